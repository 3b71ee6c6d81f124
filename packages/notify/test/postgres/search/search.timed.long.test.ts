import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Database } from '@gatehouse/kit'
import type { Server } from '@gatehouse/testing'
import { bucketOfUser } from '../../../src/model/id.ts'
import type { NotificationFilter } from '../../../src/model/notification/notification-filter.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { NotifyStore } from '../../../src/store/store.ts'
import { type RunNode, type RunStatement, startExplainingPostgres } from '../../support/engine/explain-plans.ts'

/** `SEARCH_ROWS=10000000` takes some ten minutes and 15 GB. */
const rows = Number(process.env.SEARCH_ROWS ?? 1_000_000)
const buckets = 8
const spanMs = 10 * 86_400_000
const begin = Date.UTC(2026, 0, 1)
const bounds = { limit: 50, maxRows: 50_000, maxMs: 200 }

/** What a console searches by, from what nearly all notifications have to what none has. */
const filters: Readonly<Record<string, NotificationFilter>> = {
  'nothing: the newest': {},
  'an event type of every third': { event: 'event-1' },
  'an event type and a state': { event: 'event-1', state: 'delivered' },
  'bounced ones, one of a thousand': { state: 'bounced' },
  'a provider and a channel': { provider: 'post', channel: 'email' },
  'an outcome of every hundredth': { outcome: 'capped' },
  'a user': { userId: 'alice' },
  'a user and a state': { userId: 'alice', state: 'bounced' },
  'a user of very many': { userId: 'robot' },
  'a dedup key that nobody used': { dedupKey: 'nobody' },
  'a state that none has': { state: 'clicked' },
  'a channel that none has': { channel: 'sms' },
  'a time': { from: begin + spanMs / 2, to: begin + spanMs / 2 + 60_000 },
}

describe(`searches of ${rows} notifications`, () => {
  let server: Server
  let database: Database
  let store: NotifyStore
  let ran: RunStatement[]

  before(async () => {
    const started = await startExplainingPostgres()
    server = started.server
    database = started.database
    ran = started.ran
    await migrateNotify(database, { buckets })
    store = postgresNotifyStore(database, { buckets })
    await database.query('SET auto_explain.log_min_duration = -1')
    await fill(database)
  })
  after(async () => {
    await database.close()
    await server.stop()
  })

  for (const analysed of [false, true])
    it(`read by keys alone, with ${analysed ? 'statistics' : 'none'}`, async () => {
      if (analysed) await database.query({ text: 'VACUUM ANALYZE', timeoutMs: 3_600_000 })
      await database.query('SET auto_explain.log_min_duration = 0')
      ran.length = 0
      for (const filter of Object.values(filters)) await store.search.notifications(filter, bounds)
      await store.search.deliveries({ providerMessageId: 'nobody' }, bounds)
      await database.query('SET auto_explain.log_min_duration = -1')
      const searches = ran.filter(({ 'Query Text': text }) => /notify\./.test(text))
      assert.ok(searches.length > 2 * Object.keys(filters).length)
      for (const { 'Query Text': text, Plan } of searches)
        for (const node of nodesOf(Plan)) {
          const report = `${text}\n${JSON.stringify(Plan, null, 1)}`
          assert.notEqual(node['Node Type'], 'Seq Scan', report)
          if (isLook(text))
            assert.ok(!node['Node Type'].startsWith('Bitmap'), `its order is that of the key\n${report}`)
        }
    })

  it('end within their bounds, and find what there is', async (t) => {
    for (const [name, filter] of Object.entries(filters)) {
      const times: number[] = []
      let before: string | undefined
      let found = 0
      for (let page = 0; page < 20; page++) {
        const begun = performance.now()
        const { items, next } = await store.search.notifications(filter, { ...bounds, ...(before && { before }) })
        times.push(performance.now() - begun)
        found += items.length
        before = next
      }
      times.sort((a, b) => a - b)
      const [p50, p95] = [times[9] ?? 0, times[18] ?? 0]
      t.diagnostic(`${name}: ${found} found in 20 pages, p50 ${p50.toFixed()} ms, p95 ${p95.toFixed()} ms`)
      assert.ok((times[19] ?? 0) < 10 * bounds.maxMs)
    }
    const alice = await store.search.notifications({ userId: 'alice' }, { ...bounds, limit: 200 })
    assert.deepEqual([alice.items.length, alice.next], [100, undefined], 'the index finds them, however old they are')
    const known = await store.search.deliveries({ providerMessageId: `message-${rows - 5}` }, bounds)
    assert.equal(known.items.length, 1)
  })
})

const isLook = (text: string) => /ORDER BY n\.id DESC LIMIT/.test(text)

function nodesOf(plan: RunNode): RunNode[] {
  const own = /^(?:notification|delivery|timeline_entry)$/.test(plan['Relation Name'] ?? '') ? [plan] : []
  return [...own, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

/** Notifications over ten days in ids that count up, each with one delivery by email and an entry of its report. */
async function fill(database: Database): Promise<void> {
  const head = `lpad(to_hex(${begin} + (n * ${spanMs}::bigint) / ${rows}), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')`
  const slot = `CASE WHEN n % ${rows / 100} = 7 THEN ${bucketOfUser('alice', buckets)} WHEN n % 40 = 1 THEN ${bucketOfUser('robot', buckets)} ELSE n % ${buckets} END`
  const idOf = (digit: number) =>
    `(${head} || '8000' || lpad(to_hex(n % 268435456), 7, '0') || '${digit}' || lpad(to_hex(${slot}), 4, '0'))::uuid`
  const user = `CASE WHEN n % ${rows / 100} = 7 THEN 'alice' WHEN n % 40 = 1 THEN 'robot' ELSE 'user-' || n % 100000 END`
  const decisions = `'[{"what":"accepted","detail":{"source":"http"}},{"what":"channels","detail":{"channels":["email"],"because":"request"}},{"what":"'
    || CASE WHEN n % 100 = 3 THEN 'capped' ELSE 'queued' END || '","channel":"email"}]'`
  const inserts = [
    `notification (bucket, id, user_id, event, priority, dedup_key, sensitive, data, decisions, accepted_at)
     SELECT (${slot})::smallint, ${idOf(0)}, ${user}, 'event-' || n % 3, 'normal', 'key-' || n, false,
            json_build_object('order_id', n, 'item', repeat('words ', 30)), (${decisions})::json,
            to_timestamp((${begin} + (n * ${spanMs}::bigint) / ${rows}) / 1000.0)`,
    `delivery (bucket, id, user_id, channel, state, address, provider, provider_message_id)
     SELECT (${slot})::smallint, ${idOf(2)}, ${user}, 'email', CASE WHEN n % 1000 = 5 THEN 'bounced' ELSE 'delivered' END,
            n || '@example.com', 'post', 'message-' || n`,
    `timeline_entry (bucket, notification_id, id, delivery_id, channel, at, entry_type, state)
     SELECT (${slot})::smallint, ${idOf(0)}, ${idOf(0)}, ${idOf(2)}, 'email', now(), 'delivered', 'delivered'`,
  ]
  for (const insert of inserts)
    for (let from = 1; from <= rows; from += 500_000)
      await database.query({
        text: `INSERT INTO notify.${insert} FROM generate_series(${from}, ${Math.min(rows, from + 499_999)}) AS n`,
        timeoutMs: 600_000,
      })
}
