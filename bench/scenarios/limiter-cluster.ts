/**
 * Benchmark `limiter-cluster`: exact checks of two windows on a Redis Cluster of three primaries and on a single server, both
 * started by the benchmark.
 *
 * The figure is checks per second of processor time of the Redis processes, as they report it themselves (`INFO cpu`):
 * what one Redis core carries when it has that core alone, however few cores this machine has. On a cluster the time of
 * its three processes is added up.
 *
 * The work: 20,000 users in random order, a minute's and a day's window together, 512 checks under way for each server
 * of a side: 512 on the single server, 1,536 on the cluster. `ratio_same_load` is the cluster with 512 in all, a third of
 * the load for each of its servers, whose batches are smaller then. The sides take turns, and the median of the rounds
 * counts.
 */
import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { type RedisClient, redisStore } from '@gatehouse/limiter/redis'
import { startRedis, startRedisCluster } from '@gatehouse/testing'
import { Cluster, Redis } from 'ioredis'
import { type BenchmarkResult, timesAsMuch } from '../benchmark.ts'

const users = 20_000
const rounds = 15
const checks = 30_000
const inFlightPerServer = 512
const target = 0.8
const pro = tierPolicy('pro', { rpm: 100, daily: 100_000 })

const names = ['single', 'cluster', 'sameLoad'] as const
type Name = (typeof names)[number]

interface Side {
  readonly check: (id: string) => Promise<boolean>
  /** Connections to each server, for its own figures. */
  readonly servers: readonly Redis[]
  readonly inFlight: number
}

interface Sample {
  readonly perRedisSecond: number
  readonly perCall: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const [server, group] = [await startRedis(), await startRedisCluster()]
  const single = new Redis(server.url)
  const cluster = new Cluster(group.servers.map(({ port }) => ({ host: '127.0.0.1', port })))
  const watchers = group.servers.map(({ url }) => new Redis(url))
  try {
    const onCluster = checker(redisStore(cluster as RedisClient, { keyTag: 'braces' }))
    const sides: Record<Name, Side> = {
      single: { check: checker(redisStore(single)), servers: [single], inFlight: inFlightPerServer },
      cluster: { check: onCluster, servers: watchers, inFlight: inFlightPerServer * watchers.length },
      sameLoad: { check: onCluster, servers: watchers, inFlight: inFlightPerServer },
    }
    const samples: Record<Name, Sample[]> = { single: [], cluster: [], sameLoad: [] }
    // Warmed up: nearly every counter exists on both sides.
    for (let round = 0; round < 3; round++) for (const name of names) await sample(sides[name])
    for (let round = 0; round < rounds; round++) for (const name of names) samples[name].push(await sample(sides[name]))
    return reported(median(samples.single), median(samples.cluster), median(samples.sameLoad))
  } finally {
    for (const client of [single, cluster, ...watchers]) client.disconnect()
    await Promise.all([server.stop(), group.stop()])
  }
}

function reported(single: Sample, cluster: Sample, sameLoad: Sample): BenchmarkResult {
  const ratio = timesAsMuch(cluster.perRedisSecond, single.perRedisSecond)
  const ratioSameLoad = timesAsMuch(sameLoad.perRedisSecond, single.perRedisSecond)
  const row = ({ perRedisSecond, perCall }: Sample) =>
    `${Math.round(perRedisSecond)} checks a second of a Redis core, ${perCall.toFixed(1)} checks a call`
  console.log(`two windows, ${inFlightPerServer} checks under way for each server`)
  console.log(`  one server        ${row(single)}`)
  console.log(`  cluster of three  ${row(cluster)}`)
  console.log(`  ratio             ${ratio}, target ${target}`)
  console.log(`  with ${inFlightPerServer} in all   ${row(sameLoad)}, ${ratioSameLoad} times the one server`)
  return {
    bench: 'limiter-cluster',
    ours: Math.round(cluster.perRedisSecond),
    peer: Math.round(single.perRedisSecond),
    ratio,
    ratio_core: ratio,
    unit: 'checks per second of a Redis core',
    checks_per_call: Math.round(cluster.perCall * 10) / 10,
    checks_per_call_single: Math.round(single.perCall * 10) / 10,
    ratio_same_load: ratioSameLoad,
  }
}

/** Every answer has to come from Redis. */
function checker(store: ReturnType<typeof redisStore>): Side['check'] {
  const limiter = createLimiter({ store, deadlineMs: 10_000 })
  return async (id) => {
    const { source, allowed } = await limiter.check(pro, { kind: 'user', id })
    if (source !== 'store') throw new Error(`a check was answered by ${source}`)
    return allowed
  }
}

async function sample({ check, servers, inFlight }: Side): Promise<Sample> {
  const before = await usage(servers)
  let started = 0
  const line = async (): Promise<void> => {
    while (started++ < checks) await check(`user-${Math.floor(Math.random() * users)}`)
  }
  await Promise.all(Array.from({ length: inFlight }, line))
  const after = await usage(servers)
  return {
    perRedisSecond: checks / (after.seconds - before.seconds),
    perCall: checks / (after.calls - before.calls),
  }
}

/** Processor time and script calls of all servers so far. */
async function usage(servers: readonly Redis[]): Promise<{ seconds: number; calls: number }> {
  let [seconds, calls] = [0, 0]
  for (const server of servers) {
    const cpu = await server.info('cpu')
    seconds += numberAfter(cpu, 'used_cpu_sys:') + numberAfter(cpu, 'used_cpu_user:')
    calls += numberAfter(await server.info('commandstats'), 'cmdstat_evalsha:calls=')
  }
  return { seconds, calls }
}

function numberAfter(text: string, name: string): number {
  const at = text.indexOf(name)
  return at < 0 ? 0 : Number.parseFloat(text.slice(at + name.length))
}

function median(samples: readonly Sample[]): Sample {
  const sorted = samples.toSorted((a, b) => a.perRedisSecond - b.perRedisSecond)
  return sorted[samples.length >> 1] ?? { perRedisSecond: Number.NaN, perCall: Number.NaN }
}
