import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createMetrics, manualClock } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import type { Provider } from '../../src/index.ts'
import { bucketOfUser, deliveryIdOf, newIdOfUser } from '../../src/model/id.ts'
import { type DatabaseServer, postgresDatabase, startDatabaseServer, testBuckets } from '../support/engine/engine.ts'
import { type Answer, eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const minute = 60_000
/** That of alice. */
const bucket = bucketOfUser('alice', testBuckets)
const noCap = { caps: { total: 9_999, channels: {}, priorities: {} } }
const createLike = (actor: string, more: object = {}) => ({
  event: 'photo.liked',
  user_id: 'alice',
  data: { actor, order_id: 'A-1' },
  ...more,
})

async function setupAggregation(options: Parameters<typeof setup>[0] = {}, settings: object = {}): Promise<Setup> {
  const s = await setup(options)
  await seedEventType(s, 'photo.liked', {
    channels: ['in-app'],
    aggregation: { threshold: 3, actor: 'actor' },
    ...settings,
  })
  await s.call('PUT', '/v1/templates/photo.liked/in-app/en', {
    body: '{{ actors | names: 2 }} ({{ count }}, {{ actors.size }})',
  })
  return s
}

const timelineOf = ({ body }: Answer): Array<{ what: string; detail?: Record<string, unknown> }> => body.timeline
const whatsOf = (answer: Answer) => timelineOf(answer).map(({ what }) => what)
const readMessages = async (s: Setup) => (await s.call('GET', '/dev/mailbox')).body.messages as Array<{ body: string }>
const findWhen = (s: Setup, id: string, wanted: (answer: Answer) => boolean) =>
  eventually(() => s.call('GET', `/v1/notifications/${id}`), wanted)

describe('large pending sets on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  /** A service without workers that has one window of `items`, their actors `actor` in SQL of the number `n`. */
  const filled = async (items: number, actor: string, { threshold = 3, work = true } = {}): Promise<Setup> => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const settings = { aggregation: { threshold, actor: 'actor' } }
    const s = await setupAggregation({ database, options: noCap, work }, settings)
    const id = newIdOfUser('alice')
    await database.query(
      `INSERT INTO notify.pending_item (bucket, window_id, notification_id, actor, at, data, channels, by_request)
       SELECT $4::smallint, $1::text::uuid, (left($1::text, 19) || '8000-' || lpad(to_hex(n), 7, '0')
              || '0' || right($1::text, 4))::uuid, ${actor},
              $3::timestamptz + n * interval '1 microsecond', '{"order_id": 1}', '{in-app}', false
         FROM generate_series(1, $2::integer) AS n`,
      [id, items, new Date(s.clock.now()).toISOString(), bucket],
    )
    await database.query(
      `INSERT INTO notify.pending_window (bucket, id, user_id, event, state, flush_at)
       VALUES ($3, $1, 'alice', 'photo.liked', 'open', $2)`,
      [id, new Date(s.clock.now()).toISOString(), bucket],
    )
    return s
  }

  testWith(
    'postgresql',
    'a pending set of 20,000 items becomes one notification and few of its rows are read',
    async () => {
      const s = await filled(20_000, "'actor ' || n", { work: false })
      try {
        const [window] = await s.store.waiting.closeWindows([bucket], 10, 0, s.clock.now())
        assert.equal(window?.items.length, 100)
        assert.equal(window?.summary?.actors.length, 100)
        assert.equal(window?.summary?.actorCount, 20_000)
        const working = await setup({ database: s.database, clock: s.clock, options: noCap })
        const [message] = await eventually(
          () => readMessages(working),
          (all) => all.length === 1,
        )
        assert.equal(message?.body, 'actor 1, actor 2 and 19,998 others (20000, 100)')
        const combined = await s.database.query("SELECT 1 FROM notify.timeline_entry WHERE entry_type = 'combined'")
        assert.equal(combined.rowCount, 20_000)
        assert.equal((await s.database.query('SELECT 1 FROM notify.pending_item')).rowCount, 0)
        await working.http.close()
        await working.notify.stop()
      } finally {
        await s.close()
      }
    },
  )

  testWith(
    'postgresql',
    'a pending set up to the threshold is sent item by item, in parts, each item once',
    async () => {
      const s = await filled(450, "'Ann'", { threshold: 450, work: false })
      const workers = [
        await setup({ database: s.database, clock: s.clock, options: noCap }),
        await setup({ database: s.database, clock: s.clock, options: noCap }),
      ]
      try {
        await eventually(
          () => s.database.query('SELECT 1 FROM notify.pending_window'),
          ({ rowCount }) => rowCount === 0,
        )
        const { rows } = await s.database.query<{ each: number; all: number }>(
          `SELECT count(DISTINCT notification_id)::integer AS each, count(*)::integer AS all
           FROM notify.timeline_entry WHERE entry_type = 'queued'`,
        )
        assert.deepEqual(rows, [{ each: 450, all: 450 }])
      } finally {
        for (const worker of workers) {
          await worker.http.close()
          await worker.notify.stop()
        }
        await s.close()
      }
    },
  )
})

test('a pending set that cannot be flushed does not block the others of its batch', async (t) => {
  const s = await setupAggregation()
  t.after(s.close)
  await seedEventType(s, 'photo.shared', { channels: ['in-app'], aggregation: { threshold: 3, actor: 'actor' } })
  const stuck = await s.call('POST', '/v1/notify', createLike('Ann'))
  await s.call('POST', '/v1/notify', { ...createLike('Bob'), event: 'photo.shared' })
  await s.database.query("INSERT INTO notify.delivery VALUES ($2, $1, 'alice', 'in-app', 'queued')", [
    deliveryIdOf(stuck.body.id, 'in-app'),
    bucket,
  ])
  s.clock.advance(5 * minute)
  await eventually(
    () => readMessages(s),
    (all) => all.length === 1,
  )
  assert.equal((await s.database.query('SELECT 1 FROM notify.pending_window')).rowCount, 1)
})

test('a replay of an aggregated event that was sent alone returns its delivery', async (t) => {
  const s = await setupAggregation()
  t.after(s.close)
  const first = await s.call('POST', '/v1/notify', createLike('Ann', { dedup_key: 'a' }))
  assert.deepEqual((await s.call('POST', '/v1/notify', createLike('Ann', { dedup_key: 'a' }))).body.deliveries, [
    { channel: 'in-app', outcome: 'duplicate' },
  ])
  s.clock.advance(5 * minute)
  await eventually(
    () => readMessages(s),
    (all) => all.length === 1,
  )
  const replay = await s.call('POST', '/v1/notify', createLike('Ann', { dedup_key: 'a' }))
  assert.deepEqual(replay.body, {
    id: first.body.id,
    deliveries: [{ id: deliveryIdOf(first.body.id, 'in-app'), channel: 'in-app', outcome: 'duplicate' }],
  })
})

test('a combined notification deferred by quiet hours still goes to its requested address', async (t) => {
  const s = await setupAggregation({ clock: manualClock(Date.parse('2026-06-01T21:50:00Z')) })
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/preferences/*', {
    channels: ['in-app'],
    quiet_hours: { start: '21:00', end: '08:00' },
  })
  for (const actor of ['Ann', 'Bob', 'Chidi'])
    await s.call('POST', '/v1/notify', createLike(actor, { channels: ['sms'] }))
  const last = await s.call('POST', '/v1/notify', createLike('Dana'))
  s.clock.advance(5 * minute)
  const item = await findWhen(s, last.body.id, (answer) => whatsOf(answer).includes('combined'))
  const into = String(timelineOf(item).find(({ what }) => what === 'combined')?.detail?.into)
  s.clock.set(Date.parse('2026-06-02T08:00:01Z'))
  const one = await findWhen(s, into, ({ body }) => body.deliveries.every((d: { state: string }) => d.state === 'sent'))
  assert.deepEqual(
    one.body.deliveries.map((d: { channel: string }) => d.channel),
    ['sms', 'in-app'],
  )
})

test('a resumed notification lists missing variables and its next due time', async (t) => {
  const metrics = createMetrics()
  const s = await setup({ metrics, clock: manualClock(Date.parse('2026-06-01T23:30:00Z')) })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  const { body } = await s.call('POST', '/v1/notify', {
    event: 'order.shipped',
    user_id: 'alice',
    data: {},
    channels: ['sms'],
  })
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '10:00' } })
  s.clock.set(Date.parse('2026-06-02T08:00:01Z'))
  await findWhen(s, body.id, (answer) => whatsOf(answer).filter((what) => what === 'deferred').length === 2)
  s.clock.set(Date.parse('2026-06-02T10:00:01Z'))
  const resumed = await findWhen(s, body.id, (answer) => whatsOf(answer).includes('sent'))
  assert.deepEqual(
    timelineOf(resumed)
      .slice(2)
      .map(({ what, detail }) => [what, detail?.until ?? detail?.variables]),
    [
      ['quiet_hours', '2026-06-02T08:00:00.000Z'],
      ['deferred', undefined],
      ['quiet_hours', '2026-06-02T10:00:00.000Z'],
      ['deferred', undefined],
      ['missing_variables', ['order_id']],
      ['queued', undefined],
      ['sent', undefined],
    ],
  )
  assert.match(await metrics.metrics(), /notify_missing_variables_total\{channel="sms"\} 1\b/)
})

test('an aggregated item that is sent alone lists missing variables', async (t) => {
  const s = await setupAggregation()
  t.after(s.close)
  await s.call('PUT', '/v1/templates/photo.liked/in-app/en', { body: '{{ colour }}' })
  const { body } = await s.call('POST', '/v1/notify', createLike('Ann'))
  s.clock.advance(5 * minute)
  const after = await findWhen(s, body.id, (answer) => whatsOf(answer).includes('sent'))
  assert.deepEqual(whatsOf(after), ['accepted', 'channels', 'aggregated', 'missing_variables', 'queued', 'sent'])
})

const quiet = { quiet_hours: { start: '21:00', end: '08:00' } }

test('an item that is deferred and then sent alone is rendered with its actor and count', async (t) => {
  const s = await setupAggregation({ clock: manualClock(Date.parse('2026-06-01T21:50:00Z')) })
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/preferences/*', { channels: ['in-app'], ...quiet })
  const { body } = await s.call('POST', '/v1/notify', createLike('Ann'))
  s.clock.advance(5 * minute)
  await findWhen(s, body.id, (answer) => whatsOf(answer).includes('deferred'))
  s.clock.set(Date.parse('2026-06-02T08:00:01Z'))
  const [message] = await eventually(
    () => readMessages(s),
    (all) => all.length === 1,
  )
  assert.equal(message?.body, 'Ann (1, 1)')
})

test('the email that follows a failed push of an item alone has its actor and count', async (t) => {
  const provider: Provider = {
    ...{ name: 'push', channel: 'push', timeoutMs: 1_000 },
    send: async (messages) => messages.map(() => ({ kind: 'permanent', code: '400', reason: 'no' })),
  }
  const mails: string[] = []
  const mailer: Provider = {
    ...{ name: 'mail', channel: 'email', timeoutMs: 1_000 },
    async send(messages) {
      mails.push(...messages.map(({ content }) => content.subject ?? ''))
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setupAggregation({ providers: { push: [provider], email: [mailer] } }, { channels: ['push'] })
  t.after(s.close)
  const subject = '{{ actors | names: 2 }} ({{ count }})'
  await s.call('PUT', '/v1/templates/photo.liked/email/en', { subject, body: 'Liked' })
  await s.call('POST', '/v1/notify', createLike('Ann'))
  s.clock.advance(5 * minute)
  await eventually(
    async () => s.clock.advance(1_000),
    () => mails.length > 0,
  )
  assert.deepEqual(mails, ['Ann (1)'])
})

test('a resend is not gathered: an item has its actor, a combined notification all of them', async (t) => {
  const s = await setupAggregation({ options: noCap })
  t.after(s.close)
  const send = async (actors: readonly string[]) => {
    const answers: Answer[] = []
    for (const actor of actors) answers.push(await s.call('POST', '/v1/notify', createLike(actor)))
    s.clock.advance(5 * minute)
    return answers.at(-1)?.body.id as string
  }
  const resend = async (id: string) => {
    const { body } = await s.call('POST', `/v1/notifications/${id}/resend`, { channels: ['in-app'] })
    assert.equal(body.deliveries[0].outcome, 'queued')
  }
  const alone = await send(['Eve'])
  await findWhen(s, alone, (answer) => whatsOf(answer).includes('sent'))
  await resend(alone)
  const item = await findWhen(s, await send(['Ann', 'Bob', 'Cid', 'Dan']), (answer) =>
    whatsOf(answer).includes('combined'),
  )
  await resend(String(timelineOf(item).find(({ what }) => what === 'combined')?.detail?.into))
  const messages = await eventually(
    () => readMessages(s),
    (all) => all.length === 4,
  )
  assert.deepEqual(messages.map(({ body }) => body).sort(), [
    ...['Ann, Bob and 2 others (4, 4)', 'Ann, Bob and 2 others (4, 4)'],
    ...['Eve (1, 1)', 'Eve (1, 1)'],
  ])
})
