/**
 * Benchmark `limiter-fleet`: as many processes as this machine has cores, which share one Redis or a Redis Cluster of
 * three, and check limits as fast as they can: counted locally and reconciled (hybrid), exactly on one server, and exactly
 * on a cluster.
 *
 * The work: 100,000 users by Zipf's law, a minute's and a day's window together, 512 checks under way in each process.
 * The figures are the sum of all processes, and the processor time of one check in our processes and in the Redis
 * processes, which report theirs themselves, the warm-up included. What a million checks a second takes is arithmetic
 * from these times, for cores that are in use at 60 %: it was not run, and is printed step by step.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { askRedis, startRedis, startRedisCluster } from '@gatehouse/testing'
import { type BenchmarkResult, timesAsMuch } from '../benchmark.ts'
import type { Mode, Outcome, Start } from '../limiter/protocol.ts'

const users = 100_000
const seconds = 5
const specified = 1_000_000
const utilisation = 0.6
const member = join(import.meta.dirname, '../limiter/member.ts')

interface Figures {
  readonly perSecond: number
  /** Of each process. */
  readonly eachPerSecond: readonly number[]
  /** Microseconds of processor time of one check. */
  readonly processMicros: number
  readonly redisMicros: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const processes = availableParallelism()
  const server = await startRedis()
  const group = await startRedisCluster()
  try {
    const ports = group.servers.map(({ port }) => port)
    const hybrid = await measure('hybrid', [server.port], processes)
    await askRedis(server.port, 'flushall')
    const exact = await measure('exact', [server.port], processes)
    const cluster = await measure('cluster', ports, processes)
    console.log(`${processes} processes, two windows; a million checks a second by arithmetic`)
    for (const [name, figures] of Object.entries({ hybrid, exact, cluster })) console.log(row(name, figures))
    return {
      bench: 'limiter-fleet',
      ours: Math.round(hybrid.perSecond),
      peer: specified,
      ratio: timesAsMuch(hybrid.perSecond, specified),
      unit: 'checks per second of all processes',
      processes,
      ...members('hybrid', hybrid),
      ...members('exact', exact),
      ...members('cluster', cluster),
    }
  } finally {
    await Promise.all([server.stop(), group.stop()])
  }
}

async function measure(mode: Mode, ports: readonly number[], processes: number): Promise<Figures> {
  const start: Start = { mode, ports, instances: processes, users, seconds }
  const before = await redisSeconds(ports)
  const outcomes = await Promise.all(Array.from({ length: processes }, () => runMember(start)))
  const redis = (await redisSeconds(ports)) - before
  const checks = sum(outcomes.map((outcome) => outcome.checks))
  const allChecks = checks + sum(outcomes.map(({ warmUp }) => warmUp))
  const eachPerSecond = outcomes.map((outcome) => outcome.checks / outcome.seconds)
  return {
    perSecond: sum(eachPerSecond),
    eachPerSecond,
    processMicros: (sum(outcomes.map(({ cpuSeconds }) => cpuSeconds)) / checks) * 1e6,
    redisMicros: (redis / allChecks) * 1e6,
  }
}

async function runMember(start: Start): Promise<Outcome> {
  const child = fork(member)
  child.send(start)
  const [outcome] = (await once(child, 'message')) as [Outcome]
  return outcome
}

async function redisSeconds(ports: readonly number[]): Promise<number> {
  const texts = await Promise.all(ports.map((port) => askRedis(port, 'info', 'cpu')))
  return sum(
    texts.flatMap((text) => [...text.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].map(([, time]) => Number(time))),
  )
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const coresFor = (micros: number): number => Math.ceil((specified * micros) / 1e6 / utilisation)

function members(name: string, { perSecond, processMicros, redisMicros }: Figures): Record<string, number> {
  return {
    [`${name}_per_second`]: Math.round(perSecond),
    [`${name}_process_us`]: Math.round(processMicros * 100) / 100,
    [`${name}_redis_us`]: Math.round(redisMicros * 100) / 100,
    [`${name}_processes_for_a_million`]: coresFor(processMicros),
    [`${name}_primaries_for_a_million`]: coresFor(redisMicros),
  }
}

function row(name: string, figures: Figures): string {
  const { perSecond, eachPerSecond, processMicros, redisMicros } = figures
  const each = eachPerSecond.map((one) => Math.round(one)).join(' + ')
  return [
    `  ${name.padEnd(8)}${each} = ${Math.round(perSecond)} checks a second`,
    `    processes: ${arithmetic(processMicros)}`,
    `    primaries: ${arithmetic(redisMicros)}`,
  ].join('\n')
}

/** How the number of cores follows from the processor time of one check. */
function arithmetic(micros: number): string {
  const busy = (specified * micros) / 1e6
  return (
    `1,000,000/s × ${micros.toFixed(2)} µs of processor time a check = ${busy.toFixed(2)} cores; ` +
    `÷ ${utilisation} in use = ${(busy / utilisation).toFixed(2)}, so ${coresFor(micros)}`
  )
}
