/**
 * Benchmark `notify`: from the event to the stored state. Preferences, text, cap, dedup, the call of an HTTP provider, and the
 * state, on PostgreSQL with fsync on. Against the pipeline a user would write by hand: a BullMQ worker, Redis INCR, a
 * PostgreSQL insert, an undici call, a PostgreSQL update.
 *
 * Equal on both sides: 10,000 users, one channel, the same texts, a dedup key for each event, a cap nobody reaches,
 * events handed over 500 at a time in one process, a provider in another that answers at once.
 * Not equal, in the peer's favour: its queue is not on disk (Redis as the tests start it), its events have no timeline,
 * its provider call is not fenced, its cap and its log can disagree after a crash.
 *
 * Also printed: the same at a tenth and at ten times the users, processor time for each and by step, and at half load how
 * long after its acceptance an event stands at the provider's door.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startPostgres, startRedis } from '@gatehouse/testing'
import type { BenchmarkResult } from '../benchmark.ts'
import { peer } from '../notify/baseline.ts'
import { cpuOf } from '../notify/cpu.ts'
import { eventOf } from '../notify/event.ts'
import { httpProvider } from '../notify/http-provider.ts'
import { service } from '../notify/service.ts'
import { costOfSteps } from '../notify/steps.ts'

const events = 20_000
const batch = 500
const durable = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_wal_size=4GB']

interface Candidate {
  accept(events: ReadonlyArray<ReturnType<typeof eventOf>>): Promise<unknown>
  stop(): Promise<void>
}

interface Result {
  readonly perSecond: number
  readonly cpuUsEach: number
  readonly serversUsEach: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const provider = fork(join(import.meta.dirname, '../notify/provider.ts'))
  const [{ port }] = (await once(provider, 'message')) as [{ port: number }]
  const url = `http://127.0.0.1:${port}`
  try {
    const theirs = await runPeer(url, provider)
    console.log(line('BullMQ by hand', theirs))
    const ours: Result[] = []
    let late = { p50Ms: 0, p99Ms: 0 }
    for (const users of [1_000, 10_000, 100_000]) {
      const { result, lateness } = await runOurs(url, provider, users)
      console.log(line(`Gatehouse, ${users} users`, result))
      ours.push(result)
      if (users === 10_000) late = lateness
    }
    for (const { step, processUs, serversUs } of await costOfSteps(url, durable))
      console.log(`  ${step.padEnd(40)} µs each: process ${processUs}, PostgreSQL ${serversUs}`)
    const [tenth, main, tenfold] = ours
    console.log(`from acceptance to the provider's door at half load: p50 ${late.p50Ms} ms, p99 ${late.p99Ms} ms`)
    return {
      bench: 'notify',
      ours: main?.perSecond ?? 0,
      peer: theirs.perSecond,
      ratio: Math.round(((main?.perSecond ?? 0) / theirs.perSecond) * 100) / 100,
      unit: 'notifications/s',
      cpu_us_each: (main?.cpuUsEach ?? 0) + (main?.serversUsEach ?? 0),
      cpu_us_each_peer: theirs.cpuUsEach + theirs.serversUsEach,
      p99_ms_to_provider: late.p99Ms,
      tenth: tenth?.perSecond ?? 0,
      tenfold: tenfold?.perSecond ?? 0,
    }
  } finally {
    provider.kill()
  }
}

async function runPeer(url: string, provider: ChildProcess): Promise<Result> {
  const postgres = await startPostgres({ settings: durable })
  const redis = await startRedis()
  const candidate = await peer(postgres.url, redis.url, url, 10_000)
  await play(candidate, provider, { count: 2_000, users: 10_000, run: 'warm' })
  const result = await measure(candidate, 10_000, provider, [postgres.process.pid, redis.process.pid])
  await candidate.stop()
  await redis.stop()
  await postgres.stop()
  return result
}

async function runOurs(url: string, provider: ChildProcess, users: number) {
  const postgres = await startPostgres({ settings: durable })
  const candidate = await service({ url: postgres.url, users, providers: { email: [httpProvider(url)] }, work: true })
  await play(candidate, provider, { count: 2_000, users, run: 'warm' })
  const result = await measure(candidate, users, provider, [postgres.process.pid])
  const lateness = await halfLoad(candidate, users, result.perSecond / 2, provider)
  await candidate.stop()
  await postgres.stop()
  return { result, lateness }
}

/** So many events of so many users; `run` sets them apart from those of other runs. */
interface Run {
  readonly count: number
  readonly users: number
  readonly run: string
}

/** Hands events over and waits until the provider has them all. */
async function play(to: Candidate, provider: ChildProcess, { count, users, run }: Run): Promise<void> {
  await ask(provider, 'reset')
  for (let n = 0; n < count; n += batch)
    await to.accept(Array.from({ length: Math.min(batch, count - n) }, (_, i) => eventOf(run, n + i, users)))
  while ((await ask(provider, 'count')).count < count) await pause(20)
}

async function measure(
  to: Candidate,
  users: number,
  provider: ChildProcess,
  servers: Array<number | undefined>,
): Promise<Result> {
  const serverCpu = () => servers.map(cpuOf).reduce((sum, ms) => sum + ms, 0)
  const before = { own: process.cpuUsage(), servers: serverCpu(), at: performance.now() }
  await play(to, provider, { count: events, users, run: 'race' })
  const seconds = (performance.now() - before.at) / 1_000
  const own = process.cpuUsage(before.own)
  return {
    perSecond: Math.round(events / seconds),
    cpuUsEach: Math.round((own.user + own.system) / events),
    serversUsEach: Math.round(((serverCpu() - before.servers) * 1_000) / events),
  }
}

/** How long after it was accepted an event stands at the provider's door, at a steady pace. */
async function halfLoad(to: Candidate, users: number, perSecond: number, provider: ChildProcess) {
  await ask(provider, 'reset')
  const tickMs = 20
  const each = Math.max(1, Math.round((perSecond * tickMs) / 1_000))
  const pending: Array<Promise<unknown>> = []
  for (let tick = 0; tick < 200; tick++) {
    pending.push(to.accept(Array.from({ length: each }, (_, i) => eventOf('half', tick * each + i, users))))
    await pause(tickMs)
  }
  await Promise.all(pending)
  while ((await ask(provider, 'count')).count < each * 200) await pause(20)
  return ask(provider, 'count')
}

/** Asks the provider; a provider that has ended is told as such, whatever the channel to it says. */
async function ask(provider: ChildProcess, what: string): Promise<{ count: number; p50Ms: number; p99Ms: number }> {
  if (!provider.connected)
    throw new Error(`the provider of the benchmark has ended (${provider.exitCode ?? provider.signalCode})`)
  const ended = new AbortController()
  const answer = once(provider, 'message', { signal: ended.signal })
  const end = () => ended.abort(new Error('the provider of the benchmark ended'))
  provider.once('exit', end)
  try {
    provider.send(what)
    const [measured] = await answer
    return measured as { count: number; p50Ms: number; p99Ms: number }
  } finally {
    provider.off('exit', end)
  }
}

function line(name: string, { perSecond, cpuUsEach, serversUsEach }: Result): string {
  return `${name.padEnd(26)} ${String(perSecond).padStart(6)}/s, µs each: process ${cpuUsEach}, servers ${serversUsEach}`
}
