import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { defaultOptions } from '../../../src/config/options.ts'
import type { Provider } from '../../../src/index.ts'
import { bucketOfUser, deliveryIdOf, newId, slotOfUser } from '../../../src/model/id.ts'
import { testBuckets } from '../../support/engine/engine.ts'
import { claimDue } from '../../support/processes/claims.ts'
import { eventually, seedEventType, setup } from '../../support/setup.ts'
import { createManualTopic } from '../../support/topic/manual-topic.ts'

interface Column {
  readonly table_name: string
  readonly column_name: string
  readonly data_type: string
}

async function columnsOf(database: Database, where: string): Promise<Map<string, Column[]>> {
  const { rows } = await database.query<Column>(
    `SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
      WHERE c.table_schema = 'notify' AND ${where} ORDER BY c.table_name, c.ordinal_position`,
  )
  return Map.groupBy(rows, (row) => row.table_name)
}

const notificationId = newId(slotOfUser('alice'))
const deliveryId = deliveryIdOf(notificationId, 'email')

const values: Readonly<Record<string, unknown>> = {
  text: 'x',
  // The bucket. A table that has another smallint takes it too.
  smallint: bucketOfUser('alice', testBuckets),
  integer: 1,
  bigint: 1,
  boolean: false,
  uuid: notificationId,
  ARRAY: [],
  json: '{}',
  jsonb: '{}',
  'timestamp with time zone': '2026-06-01T12:00:00Z',
}

const deliveryKeys = ['delivery.id', 'delivery_queue.delivery_id']

test('no call begins for a user who was erased, though their deliveries were claimed before', async (t) => {
  const begun: string[] = []
  const [started, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Provider = {
    name: 'slow',
    channel: 'email',
    timeoutMs: 20_000,
    async send(messages) {
      begun.push(...messages.map(({ userId }) => userId))
      started.resolve()
      await release.promise
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const concurrency = { ...defaultOptions.concurrency, email: 1 }
  const s = await setup({ providers: { email: [slow] }, options: { concurrency } })
  t.after(s.close)
  await seedEventType(s)
  const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] as const }
  await s.notify.accept([event, event, event])
  await started.promise
  const claimed = () => s.database.query('SELECT 1 FROM notify.delivery_queue WHERE lease_until IS NOT NULL')
  await eventually(claimed, ({ rowCount }) => rowCount === 3)
  assert.equal((await s.call('DELETE', '/v1/users/alice/data')).status, 200)
  await s.call('PUT', '/v1/recipients/bob', { email: 'bob@example.com', locale: 'en' })
  await s.notify.accept([{ ...event, user_id: 'bob' }])
  release.resolve()
  await eventually(
    async () => begun.includes('bob'),
    (isLast) => isLast,
  )
  assert.deepEqual(begun, ['alice', 'bob'], 'the call that was under way, and the next user')
})

test('a person whose sign-in is old erases nobody', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com' })
  const erase = (token: string) => s.call('DELETE', '/v1/users/alice/data', undefined, token)
  assert.equal((await erase('user:olga admin:privacy long-ago')).status, 401)
  assert.equal((await s.call('GET', '/v1/recipients/alice')).status, 200)
  assert.equal((await erase('user:olga admin:privacy')).status, 200)
})

test('every table that names a user is exported and erased with the user’s data', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  const named = await columnsOf(
    s.database,
    `EXISTS (SELECT FROM information_schema.columns u
              WHERE u.table_schema = 'notify' AND u.table_name = c.table_name AND u.column_name = 'user_id')
       AND (c.column_name = 'user_id' OR c.is_nullable = 'NO')`,
  )
  assert.ok(named.size >= 18, [...named.keys()].join())
  for (const [table, columns] of named) {
    const inserted = columns.map(({ column_name, data_type }) => {
      if (column_name === 'user_id') return 'alice'
      return deliveryKeys.includes(`${table}.${column_name}`) ? deliveryId : values[data_type]
    })
    assert.ok(
      inserted.every((value) => value !== undefined),
      `${table} has a column of a type that this test can't fill`,
    )
    await s.database.query(
      `INSERT INTO notify.${table} (${columns.map(({ column_name }) => column_name).join()})
       VALUES (${columns.map((_, index) => `$${index + 1}`).join()})`,
      inserted,
    )
  }
  // These name their users within what one transaction changed.
  const batches = ['outbox', 'state_change']
  const change = `ARRAY[($2, $3, now(), 'alice', NULL, 'sent', NULL)::notify.change]`
  const ids = [notificationId, deliveryId]
  await s.database.query(`INSERT INTO notify.outbox (bucket, id, changes) VALUES ($1, $2, ${change})`, [
    bucketOfUser('alice', testBuckets),
    ...ids,
  ])
  await s.database.query(
    `INSERT INTO notify.state_change (sequence, recorded_at, changes) VALUES ($1, now(), ${change})`,
    [1, ...ids],
  )
  const tables = [...named.keys(), ...batches]
  const { body } = await s.call('GET', '/v1/users/alice/data')
  assert.deepEqual(Object.keys(body.data).sort(), tables.sort())
  await s.call('DELETE', '/v1/users/alice/data')
  for (const table of tables)
    assert.equal((await s.database.query(`SELECT 1 FROM notify.${table}`)).rowCount, 0, `${table} still knows the user`)
})

test('what an open window holds of a sensitive event type is not exported', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s, 'photo.liked', { aggregation: { actor: 'actor' } })
  await seedEventType(s, 'photo.reported', { aggregation: { actor: 'actor' }, sensitive: true })
  const data = { order_id: 'A-1', actor: 'bob' }
  for (const event of ['photo.liked', 'photo.reported'])
    assert.equal((await s.call('POST', '/v1/notify', { event, user_id: 'alice', data })).status, 202)
  const { body } = await s.call('GET', '/v1/users/alice/data')
  const eventOf = new Map(body.data.notification.map(({ id, event }: { id: string; event: string }) => [id, event]))
  const items = body.data.pending_item.map((item: { notification_id: string; data: unknown; actor: unknown }) => [
    eventOf.get(item.notification_id),
    { data: item.data, actor: item.actor },
  ])
  assert.deepEqual(Object.fromEntries(items), {
    'photo.liked': { data, actor: 'bob' },
    'photo.reported': { data: null, actor: null },
  })
})

test('what waits or died before it was accepted of a sensitive event type is not exported', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s, 'order.shipped')
  await seedEventType(s, 'sign_in.code', { sensitive: true })
  const data = { order_id: 'A-1' }
  const bucket = bucketOfUser('alice', testBuckets)
  for (const event of ['order.shipped', 'sign_in.code', 'former']) {
    const request = { event, user_id: 'alice', data }
    const id = newId(slotOfUser('alice'))
    await s.store.schedule.add(Date.now() + 60_000, request)
    await s.database.query(
      `INSERT INTO notify.parked (bucket, key, id, user_id, event, place, payload) VALUES ($1, $2, $3, 'alice', $2, 1, $4)`,
      [bucket, event, id, request],
    )
    await s.database.query(
      `INSERT INTO notify.dead_letter (bucket, id, user_id, event, cause, detail, died_at, message)
       VALUES ($1, $2, 'alice', $3, 'invalid', 'no reason', now(), $4)`,
      [bucket, id, event, request],
    )
  }
  const { body } = await s.call('GET', '/v1/users/alice/data')
  const shown = (table: string, rows: ReadonlyArray<readonly [string, unknown]>) =>
    assert.deepEqual(
      Object.fromEntries(rows),
      { 'order.shipped': data, 'sign_in.code': undefined, former: undefined },
      table,
    )
  for (const table of ['scheduled', 'parked'])
    shown(
      table,
      body.data[table].map(({ payload }: { payload: Request }) => [payload.event, payload.data ?? undefined]),
    )
  shown(
    'dead_letter',
    body.data.dead_letter.map(({ event, message }: Letter) => [event, message?.data]),
  )
})

interface Request {
  readonly event: string
  readonly data: unknown
}

interface Letter {
  readonly event: string
  readonly message: Request | null
}

/** Every row of every table, as text. */
async function everything(database: Database): Promise<string[]> {
  const tables = await columnsOf(database, 'true')
  const found: string[] = []
  for (const table of tables.keys()) {
    const { rows } = await database.query<{ row: string }>(`SELECT t::text AS row FROM notify.${table} t`)
    found.push(...rows.map(({ row }) => `${table}: ${row}`))
  }
  return found
}

test('of a user who was erased nothing is left in any table, whatever was under way', async (t) => {
  const { topic, deliver, published } = createManualTopic()
  const broken: Provider = {
    name: 'broken',
    channel: 'sms',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'permanent', code: '1', reason: 'zelda is unknown' })),
  }
  const fine: Provider = {
    name: 'fine',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'accepted' })),
  }
  const s = await setup({ topic, tables: { streaming: true }, providers: { sms: [broken], email: [fine] } })
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'photo.liked', { aggregation: { actor: 'actor' } })
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: 1, per_seconds: 3_600 } })
  const data = { order_id: 'of zelda', actor: 'zelda' }
  const eventOf = (event: string, more: object = {}) => ({ event, user_id: 'zelda', data, ...more })
  await s.call('PUT', '/v1/recipients/zelda', { email: 'zelda@example.com', phone_number: '+14155550100' })
  await s.call('PUT', '/v1/users/zelda/devices/zelda-phone', { token: 'token-of-zelda' })
  await s.call('PUT', '/v1/users/zelda/preferences/photo.viewed', { quiet_hours: { start: '00:00', end: '23:59' } })
  await s.call('POST', '/v1/suppressions', { user_id: 'zelda', channel: 'push', reason: 'unsubscribed' })
  await s.call(
    'POST',
    '/v1/notify',
    eventOf('order.shipped', { channels: ['sms', 'email', 'in-app'], dedup_key: 'zelda' }),
  )
  await s.call('POST', '/v1/notify', eventOf('photo.liked'))
  await s.call('POST', '/v1/notify', eventOf('photo.viewed'))
  await s.call('POST', '/v1/scheduled', { fire_at: '2030-01-01T00:00:00Z', payload: eventOf('order.shipped') })
  await deliver(1, eventOf('photo.viewed'))
  await deliver(2, eventOf('order.lost'))
  await eventually(
    () => s.database.query('SELECT 1 FROM notify.dead_letter'),
    ({ rowCount }) => rowCount === 2,
  )
  await eventually(
    async () => published,
    (events) => events.length === 2,
  )
  const before = await everything(s.database)
  const tables = new Set(before.filter((row) => row.includes('zelda')).map((row) => row.split(':', 1)[0]))
  for (const table of [
    'parked',
    'pending_item',
    'deferred',
    'scheduled',
    'dead_letter',
    'timeline_entry',
    'inbox',
    'dedup_log',
  ])
    assert.ok(tables.has(table), `nothing of the user is in ${table}: ${[...tables]}`)
  await s.call('DELETE', '/v1/users/zelda/data')
  assert.deepEqual(
    (await everything(s.database)).filter((row) => row.includes('zelda')),
    [],
  )
})

test('what is replayed of a notification that was purged is exported and erased', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  const { database, store, clock } = s
  await database.query(
    `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, message)
     VALUES ($1, $2, $3, 'alice', 'push', 'e', 'permanent', 'no', now(), '{"targets": [], "body": "x", "locale": "en"}')`,
    [bucketOfUser('alice', testBuckets), deliveryIdOf(notificationId, 'push'), notificationId],
  )
  const now = clock.now()
  assert.equal((await store.deadLetters.replay({}, 10, now)).replayed, 1)
  assert.ok('delivery_queue' in (await store.privacy.exportUser('alice')))
  const [claimed = assert.fail('nothing was replayed')] = await claimDue(store.deliveries, { channel: 'push', now })
  const next = { kind: 'dead', cause: 'permanent', detail: 'no', fallback: true } as const
  await store.deliveries.record([{ claimed, at: now, what: 'dead_letter', detail: {}, deadTokens: [], next }])
  for (const table of ['delivery', 'deferred'])
    assert.equal((await database.query(`SELECT FROM notify.${table}`)).rowCount, 0, `no email of it is in ${table}`)
  assert.equal((await store.deadLetters.replay({}, 10, now)).replayed, 1)
  await store.privacy.eraseUser('alice')
  assert.equal((await database.query('SELECT FROM notify.delivery_queue')).rowCount, 0)
})
