/**
 * Benchmark `console`: what a person waits for. `first_load_kb` is what the first page loads, compressed, in 1,000 bytes.
 * `search_p95_ms` is the 95th percentile of the searches that the list of notifications makes, on PostgreSQL with
 * 10,000,000 notifications of 100,000 users, each with a delivery (BENCH_ROWS says another number): the newest, those of a
 * user, of an event, of a channel and state, in the middle of the time, and of an event, a state and a channel that none
 * has, which walk back to the bounds of a search.
 *
 * `ours` is searches per second, one after the other; `peer` is the plainest query that a list could make, the newest
 * 50 notifications by their key, on the same connection, in turns. Not equal: ours reads deliveries as well, and filters.
 */
import { createBundler } from '@gatehouse/console/bundle'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import type { NotifyStore } from '@gatehouse/notify'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'
import { startPostgres } from '@gatehouse/testing'
import { type BenchmarkResult, paceOf, quantileOf, takeTurns, timesAsMuch } from '../benchmark.ts'

const rows = Number(process.env.BENCH_ROWS ?? 10_000_000)
const users = 100_000
const rounds = 5
const repeats = 20
const batch = 1_000_000
/** As the endpoint has them. */
const bounds = { limit: 50, maxRows: 50_000, maxMs: 200 }
const loadTimeoutMs = 600_000
const timeouts = { statementMs: loadTimeoutMs, lockMs: loadTimeoutMs, idleTransactionMs: loadTimeoutMs }
const dayMs = 86_400_000
const spanMs = 30 * dayMs

export async function benchmark(): Promise<BenchmarkResult> {
  const firstLoad = await firstLoadBytes()
  const postgres = await startPostgres({
    settings: ['shared_buffers=1GB', 'max_wal_size=8GB', 'synchronous_commit=off'],
  })
  const database = await openPostgres({ url: new Secret(postgres.url), log: silentLog, connections: 4, timeouts })
  try {
    await migrateNotify(database)
    const end = Date.now()
    const loading = performance.now()
    await load(database, end)
    console.log(`${rows.toLocaleString('en')} notifications in ${Math.round((performance.now() - loading) / 1_000)} s`)
    return report(firstLoad, await measure(database, end))
  } finally {
    await database.close()
    await postgres.stop()
  }
}

async function firstLoadBytes(): Promise<number> {
  const { assets, script, style, preload } = await createBundler()()
  return [script, style, ...preload].reduce((sum, name) => sum + (assets.get(name)?.gzip.length ?? 0), 0)
}

/** Ids are those of the service: the time, and in the last five digits the channel and the slot. */
const idOf = (channel: number) => `(lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' ||
  lpad(to_hex(n % 4096), 3, '0') || lpad(to_hex(n % 268435456), 7, '0') || '${channel}' || lpad(to_hex(slot), 4, '0'))::uuid`

async function load(database: Database, end: number): Promise<void> {
  await database.query('DROP INDEX notify.notification_user')
  for (let from = 0; from < rows; from += batch) {
    const count = Math.min(batch, rows - from)
    const numbers = `(SELECT n, n % ${users} AS u, (n % ${users}) % 65536 AS slot,
      ($1::bigint - $2::bigint + n * $2::bigint / $3::bigint) AS ms
      FROM generate_series($4::bigint, $4::bigint + $5::bigint - 1) AS n) AS numbered`
    const values = [end, spanMs, rows, from, count]
    await database.query({
      text: `INSERT INTO notify.notification (bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at)
             SELECT 0, ${idOf(0)}, 'user-' || u, 'event.' || n % 40, 'normal', false, '{"order_id":"A-1"}', '[]',
                    to_timestamp(ms / 1000.0) FROM ${numbers}`,
      values,
      timeoutMs: loadTimeoutMs,
    })
    await database.query({
      text: `INSERT INTO notify.delivery (bucket, id, user_id, channel, state, address, provider, sent_at)
             SELECT 0, ${idOf(2)}, 'user-' || u, 'email', CASE WHEN n % 500 = 0 THEN 'bounced' ELSE 'delivered' END,
                    u || '@example.com', 'ses', to_timestamp(ms / 1000.0) FROM ${numbers}`,
      values,
      timeoutMs: loadTimeoutMs,
    })
  }
  const index = 'CREATE INDEX notification_user ON notify.notification (user_id, bucket)'
  for (const text of [index, 'VACUUM ANALYZE notify.notification', 'VACUUM ANALYZE notify.delivery'])
    await database.query({ text, timeoutMs: loadTimeoutMs })
}

type Search = Parameters<NotifyStore['search']['notifications']>[0]

function searchesOf(n: number, end: number): Readonly<Record<string, Search>> {
  return {
    newest: {},
    user: { userId: `user-${(n * 7_919) % users}` },
    event: { event: `event.${n % 40}` },
    state: { channel: 'email', state: 'bounced' },
    unused: { state: 'clicked' },
    silent: { channel: 'sms' },
    past: { event: `event.${n % 40}`, to: end - spanMs / 2 },
    nothing: { event: 'event.unknown' },
  }
}

interface Measured {
  readonly latencies: ReadonlyMap<string, readonly number[]>
  readonly perSecond: { readonly ours: number; readonly peer: number }
}

async function measure(database: Database, end: number): Promise<Measured> {
  const { search } = postgresNotifyStore(database)
  const latencies = new Map<string, number[]>()
  const kinds = Object.keys(searchesOf(0, end))
  const ours = () =>
    paceOf(repeats * kinds.length, async () => {
      for (let n = 0; n < repeats; n++)
        for (const [kind, filter] of Object.entries(searchesOf(n, end))) {
          const begun = performance.now()
          await search.notifications(filter, bounds)
          latencies.set(kind, [...(latencies.get(kind) ?? []), performance.now() - begun])
        }
    })
  const newest = 'SELECT * FROM notify.notification WHERE bucket = 0 ORDER BY id DESC LIMIT 50'
  const peer = () =>
    paceOf(repeats * kinds.length, async () => {
      for (let n = 0; n < repeats * kinds.length; n++) await database.query(newest)
    })
  const paces = await takeTurns(rounds, { ours, peer })
  return { latencies, perSecond: { ours: paces.ours.perSecond, peer: paces.peer.perSecond } }
}

function report(firstLoad: number, { latencies, perSecond }: Measured): BenchmarkResult {
  for (const [kind, each] of latencies)
    console.log(
      `${kind.padEnd(8)} p50 ${quantileOf(each, 0.5).toFixed(1)} ms, p95 ${quantileOf(each, 0.95).toFixed(1)} ms`,
    )
  const all = [...latencies.values()].flat()
  return {
    bench: 'console',
    ours: Math.round(perSecond.ours),
    peer: Math.round(perSecond.peer),
    ratio: timesAsMuch(perSecond.ours, perSecond.peer),
    unit: 'searches/s',
    rows,
    first_load_kb: Math.round(firstLoad / 100) / 10,
    search_p95_ms: Math.round(quantileOf(all, 0.95) * 10) / 10,
  }
}
