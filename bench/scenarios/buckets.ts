/**
 * Benchmark `buckets`: what a notification costs in a database of 256 buckets, divided by the same in one of one bucket,
 * on one PostgreSQL with fsync on. Events of 10,000 users, one mail each, with a dedup key; 500 are under way at a time,
 * each submitted by itself, and the next when one has been sent; a provider in this process that answers at once. The cost
 * is processor time of this process and of PostgreSQL together; the two databases take turns, and the medians count.
 *
 * `ratio_accept` is the same of accepting alone, with the workers off. `idle_transactions` is what one process without
 * any traffic makes in a second with 256 buckets, as PostgreSQL counts it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import type { Notify, Provider } from '@gatehouse/notify'
import { type Server, startPostgres } from '@gatehouse/testing'
import { type BenchmarkResult, timesAsMuch } from '../benchmark.ts'
import { cpuOf } from '../notify/cpu.ts'
import { eventOf } from '../notify/event.ts'
import { service } from '../notify/service.ts'

const settings = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_wal_size=8GB']
const [events, underWay, users, rounds] = [4_000, 500, 10_000, 3]
const idleSeconds = 10

interface Cost {
  readonly accept: number
  readonly whole: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const servers = new Map<number, Server>()
  for (const buckets of [1, 256]) servers.set(buckets, await startPostgres({ settings }))
  const costs = new Map<number, Cost[]>()
  try {
    for (let round = 0; round <= rounds; round++)
      for (const [buckets, server] of servers) {
        const cost = await costOf(server, buckets, `round-${round}`)
        console.log(`${buckets} buckets: accept ${cost.accept} µs, accept and deliver ${cost.whole} µs`)
        // The first warms the process and the caches.
        if (round > 0) costs.set(buckets, [...(costs.get(buckets) ?? []), cost])
      }
    const medians = (pick: (cost: Cost) => number) =>
      [1, 256].map((buckets) => median((costs.get(buckets) ?? []).map(pick)))
    const [peer = 0, ours = 0] = medians(({ whole }) => whole)
    const [peerAccept = 0, oursAccept = 0] = medians(({ accept }) => accept)
    const idle = await idleTransactions(servers.get(256))
    return {
      bench: 'buckets',
      ours,
      peer,
      ratio: timesAsMuch(ours, peer),
      unit: 'µs of this process and PostgreSQL for a notification, the peer being one bucket; less is better',
      ratio_256: timesAsMuch(ours, peer),
      ratio_accept: timesAsMuch(oursAccept, peerAccept),
      idle_transactions: idle,
    }
  } finally {
    for (const server of servers.values()) await server.stop()
  }
}

/** What an event costs, accepted alone and accepted and delivered, in microseconds. */
async function costOf({ url, process: { pid } }: Server, buckets: number, run: string): Promise<Cost> {
  const meter = async (work: () => Promise<void>) => {
    const before = { own: process.cpuUsage(), serversMs: cpuOf(pid) }
    await work()
    const own = process.cpuUsage(before.own)
    return Math.round((own.user + own.system + (cpuOf(pid) - before.serversMs) * 1_000) / events)
  }
  const accepting = await service({ url, users, providers: {}, work: false, buckets })
  const accept = await meter(() => submit(accepting, `${run}-accept`))
  await accepting.stop()
  await truncateQueue(url)
  const sent = countingProvider()
  const working = await service({ url, users: 0, providers: { email: [sent.provider] }, work: true, buckets })
  const whole = await meter(() => submit(working, `${run}-whole`, sent))
  await working.stop()
  return { accept, whole }
}

/** Submits the events, so many under way: until each is accepted, or sent where `sent` counts that. */
async function submit(notify: Notify, run: string, sent?: CountingProvider): Promise<void> {
  const { promise: finished, resolve, reject } = Promise.withResolvers<void>()
  let [started, done] = [0, 0]
  const next = () => {
    const n = started++
    notify.accept([eventOf(run, n, users)]).then(() => sent ?? onDone(1), reject)
  }
  const onDone = (count: number) => {
    done += count
    for (let each = 0; each < count && started < events; each++) next()
    if (done === events) resolve()
  }
  if (sent) sent.onSent = onDone
  while (started < underWay) next()
  await finished
}

interface CountingProvider {
  readonly provider: Provider
  onSent: (count: number) => void
}

function countingProvider(): CountingProvider {
  const counting: CountingProvider = {
    onSent() {},
    provider: {
      name: 'instant',
      channel: 'email',
      timeoutMs: 10_000,
      async send(messages) {
        counting.onSent(messages.length)
        return messages.map(() => ({ kind: 'accepted' }))
      },
    },
  }
  return counting
}

async function truncateQueue(url: string): Promise<void> {
  await withDatabase(url, (database) => database.query('TRUNCATE notify.delivery_queue'))
}

/** Transactions a second while one process has nothing to do. */
async function idleTransactions(server: Server | undefined): Promise<number> {
  if (!server) return Number.NaN
  const providers = { email: [countingProvider().provider] }
  const idle = await service({ url: server.url, users: 0, providers, work: true, buckets: 256 })
  try {
    return await withDatabase(server.url, async (database) => {
      await pause(idleSeconds * 1_000)
      const before = await transactionsOf(database)
      await pause(idleSeconds * 1_000)
      return Math.round((await transactionsOf(database)) - before) / idleSeconds
    })
  } finally {
    await idle.stop()
  }
}

async function transactionsOf(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()',
  )
  return Number(rows[0]?.count)
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
