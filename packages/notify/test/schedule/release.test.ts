import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createMetrics, type Database, silentLog } from '@gatehouse/kit'
import { type Server, startNats, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { bucketOfUser } from '../../src/model/id.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { type DatabaseServer, postgresDatabase, startDatabaseServer, testBuckets } from '../support/engine/engine.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const span = 60_000
const createView = (place: number, more: object = {}) => ({
  event: 'photo.viewed',
  user_id: 'alice',
  data: { order_id: place },
  channels: ['in-app'],
  ...more,
})

/** A service whose type photo.viewed may come twice a minute. */
async function setupLimited(options: Parameters<typeof setup>[0]): Promise<Setup> {
  const s = await setup({ options: { caps: { total: 9_999, channels: {}, priorities: {} } }, ...options })
  await seedEventType(s)
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: 2, per_seconds: span / 1000 } })
  return s
}

/** The places of the events that were notified of, in the order of their acceptance. */
async function readNotified({ database }: Pick<Setup, 'database'>): Promise<number[]> {
  const { rows } = await database.query<{ place: number }>(
    `SELECT (data->>'order_id')::integer AS place FROM notify.notification WHERE event = 'photo.viewed'
      ORDER BY accepted_at, id`,
  )
  return rows.map(({ place }) => place)
}

const inOrder = (places: readonly number[]) => [...places].sort((a, b) => a - b)

for (const distributed of [false, true])
  test(`metrics count parked and released events (${distributed ? 'apart' : 'together'})`, async (t) => {
    const { topic, deliver } = createManualTopic()
    const metrics = createMetrics()
    const s = await setupLimited({ topic, metrics, tables: { distributed } })
    t.after(s.close)
    for (let place = 1; place <= 5; place++) await deliver(place, createView(place))
    const count = async (name: string) => {
      const { values = [] } = (await metrics.getSingleMetric(name)?.get()) ?? {}
      return values.map(({ labels, value }) => [labels.event, value])
    }
    assert.deepEqual(await count('notify_parked_total'), [['photo.viewed', 3]])
    assert.deepEqual(await count('notify_released_total'), [])
    s.clock.advance(span)
    const released = await eventually(
      () => count('notify_released_total'),
      (values) => values.length > 0,
    )
    assert.deepEqual(released, [['photo.viewed', 2]])
  })

test('topic events over their rate are parked, acked and released in order at the rate', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupLimited({ topic })
  t.after(s.close)
  for (let place = 1; place <= 5; place++) assert.equal(await deliver(place, createView(place)), 'ack')
  assert.deepEqual(await readNotified(s), [1, 2])
  s.clock.advance(span)
  assert.equal(await deliver(6, createView(6)), 'ack')
  await eventually(
    () => readNotified(s),
    (places) => places.length === 4,
  )
  assert.deepEqual(inOrder(await readNotified(s)), [1, 2, 3, 4], 'who comes later does not overtake the parked')
  s.clock.advance(span)
  await eventually(
    () => readNotified(s),
    (places) => places.length === 6,
  )
  assert.equal((await s.database.query('SELECT 1 FROM notify.parked')).rowCount, 0)
  const { rows } = await s.database.query<{ sources: string[] }>(
    "SELECT array_agg(DISTINCT decisions->0->'detail'->>'source') AS sources FROM notify.notification",
  )
  assert.deepEqual(rows[0]?.sources, ['topic'])
})

test('a topic event that is redelivered while parked or after its release counts once', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupLimited({ topic })
  t.after(s.close)
  for (const place of [1, 2, 3, 3, 4, 3, 4]) assert.equal(await deliver(place, createView(place)), 'ack')
  assert.equal((await s.database.query('SELECT 1 FROM notify.parked')).rowCount, 2)
  s.clock.advance(span)
  await eventually(
    () => readNotified(s),
    (places) => places.length === 4,
  )
  for (const place of [3, 4]) assert.equal(await deliver(place, createView(place)), 'ack')
  s.clock.advance(span)
  await eventually(
    () => s.database.query('SELECT 1 FROM notify.parked UNION ALL SELECT 1 FROM notify.scheduled'),
    ({ rowCount }) => rowCount === 0,
  )
  assert.deepEqual(inOrder(await readNotified(s)), [1, 2, 3, 4])
})

test('parked events are released when their type loses its rate, and die if it is removed', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupLimited({ topic })
  t.after(s.close)
  for (let place = 1; place <= 4; place++) await deliver(place, createView(place))
  await s.call('PUT', '/v1/event-types/photo.viewed', { channels: ['in-app'] })
  await eventually(
    () => readNotified(s),
    (places) => places.length === 4,
  )
  await s.call('PUT', '/v1/event-types/photo.viewed', {
    channels: ['in-app'],
    rate_limit: { limit: 1, per_seconds: 3_600 },
  })
  for (let place = 5; place <= 7; place++) await deliver(place, createView(place))
  const before = (await readNotified(s)).length
  await s.call('DELETE', '/v1/event-types/photo.viewed')
  const letters = await eventually(
    () => s.call('GET', '/v1/dead-letters?event=photo.viewed'),
    ({ body }) => body.items.length === 7 - before,
  )
  assert.match(letters.body.items[0].detail, /photo\.viewed/)
})

test('a type whose parked events cannot be released holds up no other, and follows later', async (t) => {
  const { topic, deliver } = createManualTopic()
  const errors: object[] = []
  const s = await setupLimited({ topic, log: { ...silentLog, error: (about: object) => errors.push(about) } })
  t.after(s.close)
  const rate = { limit: 1, per_seconds: span / 1000 }
  await seedEventType(s, 'photo.shared', { rate_limit: rate })
  for (let place = 1; place <= 2; place++) await deliver(place, createView(place, { event: 'photo.shared' }))
  for (let place = 3; place <= 7; place++) await deliver(place, createView(place))
  await s.database.query(
    `UPDATE notify.event_type SET settings = jsonb_set(settings, '{rate,limit}', '3000000000')
      WHERE event = 'photo.shared'`,
  )
  await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['in-app'] })
  s.clock.advance(span)
  await eventually(
    () => readNotified(s),
    (places) => places.length === 4,
  )
  const [{ event, bucket } = {}] = await eventually(
    async () => errors as { event?: string; bucket?: number }[],
    ({ length }) => length > 0,
  )
  assert.deepEqual([event, bucket], ['photo.shared', bucketOfUser('alice', testBuckets)])
  await s.call('PUT', '/v1/event-types/photo.shared', { channels: ['in-app'], rate_limit: rate })
  await eventually(
    () => s.database.query("SELECT 1 FROM notify.notification WHERE event = 'photo.shared'"),
    ({ rowCount }) => rowCount === 2,
  )
})

test('a window of a rate far in the future does not count, and one a little ahead does', async (t) => {
  const s = await setup({ work: false, options: { caps: { total: 9_999, channels: {}, priorities: {} } } })
  t.after(s.close)
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: 1, per_seconds: span / 1000 } })
  await seedEventType(s, 'photo.shared', { rate_limit: { limit: 1, per_seconds: 1 } })
  const now = s.clock.now()
  const send = async (event: string) => (await s.call('POST', '/v1/notify', createView(1, { event }))).status
  for (const [aheadMs, event, seen] of [
    [30 * 86_400_000, 'photo.viewed', [202, 202, 429]],
    [span - 1_000, 'photo.shared', [202, 429, 429]],
  ] as const) {
    s.clock.set(now + aheadMs)
    const first = await send(event)
    s.clock.set(now)
    assert.deepEqual([first, await send(event), await send(event)], seen, event)
  }
})

test('parked events of a user are exported, and erased with the user', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupLimited({ topic })
  t.after(s.close)
  for (let place = 1; place <= 3; place++) await deliver(place, createView(place))
  const { body } = await s.call('GET', '/v1/users/alice/data')
  assert.equal(JSON.stringify(body).includes('NOTIFICATIONS:3'), true)
  await s.call('DELETE', '/v1/users/alice/data')
  assert.equal((await s.database.query('SELECT 1 FROM notify.parked')).rowCount, 0)
})

describe('a flood of the topic', () => {
  let postgres: DatabaseServer | undefined
  let nats: Server | undefined
  before(async () => {
    ;[postgres, nats] = await Promise.all([startDatabaseServer(), startNats()]).catch(() => [undefined, undefined])
  })
  after(() => Promise.all([postgres?.stop(), nats?.stop()]))

  const fresh = (): Promise<Database> => postgresDatabase(postgres ?? assert.fail('PostgreSQL did not start'))

  testWith('nats-server', 'a flood of one event type blocks no other, and none of it stays unacked', async () => {
    const url = nats?.url ?? assert.fail('NATS did not start')
    const topic = await natsTopic({ url, log: silentLog, concurrency: 20 })
    const s = await setupLimited({ topic, database: await fresh(), tables: { streaming: true } })
    const connection = await connect({ servers: url.replace('nats://', '') })
    try {
      const js = jetstream(connection)
      for (let place = 1; place <= 300; place++) await js.publish('notifications', JSON.stringify(createView(place)))
      await js.publish('notifications', JSON.stringify(createView(0, { event: 'order.shipped', channels: ['sms'] })))
      await eventually(
        () => s.call('GET', '/dev/mailbox'),
        ({ body }) => body.messages.some(({ channel }: { channel: string }) => channel === 'sms'),
      )
      const manager = await jetstreamManager(connection)
      await eventually(
        () => manager.consumers.info('NOTIFICATIONS', 'notify'),
        ({ num_ack_pending, num_pending }) => num_ack_pending === 0 && num_pending === 0,
      )
      assert.equal((await s.database.query('SELECT 1 FROM notify.parked')).rowCount, 298)
    } finally {
      await connection.close()
      await s.close()
    }
  })

  testWith('postgresql', 'two processes that park and release one flood lose nothing and keep its rate', async () => {
    const hands = [createManualTopic(), createManualTopic()] as const
    const database = await fresh()
    const first = await setupLimited({ topic: hands[0].topic, database })
    const second = await setup({
      topic: hands[1].topic,
      database,
      clock: first.clock,
      options: { caps: { total: 9_999, channels: {}, priorities: {} } },
    })
    try {
      const places = Array.from({ length: 20 }, (_, index) => index + 1)
      const give = async (place: number, hand: 0 | 1) =>
        assert.equal(await hands[hand].deliver(place, createView(place, { user_id: `user${place % 7}` })), 'ack')
      await Promise.all(places.map((place) => give(place, place % 2 === 0 ? 0 : 1)))
      const { rows: parked } = await database.query<{ place: number }>('SELECT place FROM notify.parked')
      assert.equal(parked.length, 18)
      await Promise.all(parked.map(({ place }) => give(place, place % 2 === 0 ? 1 : 0)))
      for (let wanted = 4; wanted <= 20; wanted += 2) {
        first.clock.advance(span)
        await eventually(
          () => readNotified(first),
          (seen) => seen.length >= wanted,
        )
      }
      assert.deepEqual(inOrder(await readNotified(first)), places)
      const { rows } = await database.query<{ max: number }>(
        'SELECT max(n) AS max FROM (SELECT count(*) AS n FROM notify.notification GROUP BY accepted_at) AS by_span',
      )
      assert.equal(rows[0]?.max, 2)
    } finally {
      await Promise.all([first.http.close(), second.http.close()])
      await second.notify.stop()
      await first.close()
    }
  })
})
