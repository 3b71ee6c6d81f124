import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { createMetrics, type ManualClock, manualClock } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import type { Channel, Provider, SendResult } from '../../src/index.ts'
import { type DatabaseServer, postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { createProcesses } from '../support/processes/processes.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
const evening = Date.parse('2026-06-01T21:55:00Z')
const tenAtNight = Date.parse('2026-06-01T22:00:00Z')
const morning = Date.parse('2026-06-02T08:00:00Z')
const minute = 60_000

/** A provider that can be down, and when it was called. */
function post(clock: ManualClock, channel: Channel = 'email') {
  const calls: string[] = []
  const answer: { now: SendResult } = { now: { kind: 'accepted' } }
  const provider: Provider = {
    name: `post-${channel}`,
    channel,
    timeoutMs: 1_000,
    async send(messages) {
      calls.push(...messages.map(() => new Date(clock.now()).toISOString()))
      return messages.map(() => answer.now)
    },
  }
  return { provider, calls, answer }
}

/** Alice, who sleeps from ten to eight, and a provider; it is five to ten. */
async function bedtime(t: TestContext, options: SetupOptions = {}, settings: object = {}) {
  const clock = manualClock(evening)
  const sender = post(clock)
  const parts = { clock, providers: { email: [sender.provider] }, ...options }
  const s = await setup(parts)
  const { start, close } = createProcesses(s, parts)
  t.after(close)
  await seedEventType(s, 'order.shipped', settings)
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  return { s, clock, start, ...sender }
}

const timeline = async (s: Setup, id: string) => (await s.call('GET', `/v1/notifications/${id}`)).body.timeline
const whats = async (s: Setup, id: string): Promise<string[]> =>
  (await timeline(s, id)).map(({ what }: { what: string }) => what)
const untilEntry = (s: Setup, id: string, what: string) =>
  eventually(
    () => whats(s, id),
    (entries) => entries.includes(what),
  )

test('a mail whose provider fails as quiet hours begin is retried in the morning, not before', async (t) => {
  const metrics = createMetrics()
  const { s, clock, calls, answer } = await bedtime(t, { metrics })
  answer.now = { kind: 'transient', reason: '503', retryAfterMs: 10 * minute }
  const { body } = await s.call('POST', '/v1/notify', shipped)
  await untilEntry(s, body.id, 'attempt_failed')
  answer.now = { kind: 'accepted' }
  clock.set(evening + 11 * minute)
  await untilEntry(s, body.id, 'quiet_hours')
  const { rows } = await s.database.query<{ due_at: number; failures: number }>(
    'SELECT due_at, failures FROM notify.delivery_queue',
  )
  assert.deepEqual(rows, [{ due_at: morning, failures: 1 }])
  clock.set(morning)
  await untilEntry(s, body.id, 'sent')
  assert.deepEqual(calls, ['2026-06-01T21:55:00.000Z', '2026-06-02T08:00:00.000Z'])
  const entry = (await timeline(s, body.id)).find(({ what }: { what: string }) => what === 'quiet_hours')
  assert.equal(entry.detail.until, '2026-06-02T08:00:00.000Z')
  const counter = await metrics.getSingleMetric('notify_quiet_hours_total')?.get()
  assert.deepEqual(counter?.values, [{ labels: { channel: 'email' }, value: 1 }])
  const attempts = await metrics.getSingleMetric('notify_attempts_total')?.get()
  assert.deepEqual(
    attempts?.values.map(({ labels, value }) => [labels.result, value]),
    [
      ['attempt_failed', 1],
      ['sent', 1],
    ],
  )
})

test('dead letters that are replayed at night are sent in the morning', async (t) => {
  const { s, clock, calls, answer } = await bedtime(t)
  answer.now = { kind: 'permanent', code: '550', reason: 'no' }
  const { body } = await s.call('POST', '/v1/notify', shipped)
  await untilEntry(s, body.id, 'dead_letter')
  answer.now = { kind: 'accepted' }
  clock.set(tenAtNight + 60 * minute)
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', {})).body.replayed, 1)
  await untilEntry(s, body.id, 'quiet_hours')
  clock.set(morning)
  await untilEntry(s, body.id, 'sent')
  assert.deepEqual(calls, ['2026-06-01T21:55:00.000Z', '2026-06-02T08:00:00.000Z'])
})

test('a backlog found at night by a process that starts waits for the morning on every channel', async (t) => {
  const { s, clock, start } = await bedtime(t, { work: false })
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: undefined })
  assert.equal(body.deliveries.length, 4)
  clock.set(tenAtNight)
  const senders = (['email', 'sms', 'push', 'in-app'] as const).map((channel) => post(clock, channel))
  const providers = Object.fromEntries(senders.map(({ provider }) => [provider.channel, [provider]]))
  await start({ providers })
  const deferred = async () => (await whats(s, body.id)).filter((what) => what === 'quiet_hours').length
  await eventually(deferred, (count) => count === 4)
  assert.deepEqual(
    senders.flatMap(({ calls }) => calls),
    [],
  )
  clock.set(morning)
  await eventually(
    async () => senders.flatMap(({ calls }) => calls),
    (calls) => calls.length === 4,
  )
})

test('a critical mail is retried at night', async (t) => {
  const { s, clock, calls, answer } = await bedtime(t, {}, { priority: 'critical' })
  answer.now = { kind: 'transient', reason: '503', retryAfterMs: 10 * minute }
  const { body } = await s.call('POST', '/v1/notify', shipped)
  await untilEntry(s, body.id, 'attempt_failed')
  answer.now = { kind: 'accepted' }
  clock.set(tenAtNight + 60 * minute)
  await untilEntry(s, body.id, 'sent')
  assert.deepEqual(calls.at(-1), '2026-06-01T23:00:00.000Z')
})

test('the quiet hours and zone of a mail are those at the time of its claim', async (t) => {
  const { s, clock, calls, start } = await bedtime(t, { work: false })
  const { body: moved } = await s.call('POST', '/v1/notify', shipped)
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'Asia/Kathmandu' })
  await start()
  await untilEntry(s, moved.id, 'quiet_hours')
  const { rows } = await s.database.query<{ due_at: number }>('SELECT due_at FROM notify.delivery_queue')
  assert.equal(new Date(rows[0]?.due_at ?? 0).toISOString(), '2026-06-02T02:15:00.000Z')
  await s.call('PUT', '/v1/users/alice/preferences/order.shipped', { quiet_hours: { start: '00:00', end: '00:00' } })
  clock.set(Date.parse('2026-06-02T02:15:00Z'))
  await untilEntry(s, moved.id, 'sent')
  assert.deepEqual(calls, ['2026-06-02T02:15:00.000Z'])
})

test('a mail that waits for a slot as quiet hours begin is not sent when it gets one', async (t) => {
  const first = Promise.withResolvers<void>()
  const clock = manualClock(evening)
  const orders: string[] = []
  const slow: Provider = {
    name: 'slow',
    channel: 'email',
    timeoutMs: 30_000,
    async send(messages) {
      orders.push(...messages.map(({ content }) => content.body))
      if (orders.length === 1) await first.promise
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const { s, start } = await bedtime(t, { work: false, clock })
  for (const order_id of ['first', 'second']) await s.call('POST', '/v1/notify', { ...shipped, data: { order_id } })
  const concurrency = { push: 1, email: 1, sms: 1, 'in-app': 1 }
  await start({ providers: { email: [slow] }, options: { concurrency } })
  await eventually(
    async () => (await s.database.query('SELECT 1 FROM notify.delivery_queue WHERE lease_until IS NOT NULL')).rowCount,
    (leased) => leased === 2 && orders.length === 1,
  )
  clock.set(tenAtNight)
  first.resolve()
  await eventually(
    async () => (await s.database.query<{ due_at: number }>('SELECT due_at FROM notify.delivery_queue')).rows,
    (rows) => rows.length === 1 && rows[0]?.due_at === morning,
  )
  assert.deepEqual(orders, ['Order first left.'])
})

describe('quiet hours, two processes on one PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'a backlog at night is deferred once, and sent once in the morning', async (t) => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const { s, clock, start } = await bedtime(t, { database, work: false })
    const caps = { total: 999, channels: {}, priorities: {} }
    const ids: string[] = []
    for (let n = 0; n < 5; n++)
      ids.push((await s.call('POST', '/v1/notify', { ...shipped, data: { order_id: n } })).body.id)
    clock.set(tenAtNight)
    const senders = [post(clock), post(clock)]
    for (const { provider } of senders) await start({ providers: { email: [provider] }, options: { caps } })
    for (const id of ids) await untilEntry(s, id, 'quiet_hours')
    clock.set(morning)
    for (const id of ids) await untilEntry(s, id, 'sent')
    const calls = senders.flatMap((sender) => sender.calls)
    assert.deepEqual(calls, Array(5).fill('2026-06-02T08:00:00.000Z'))
    for (const id of ids) assert.deepEqual((await whats(s, id)).slice(2), ['queued', 'quiet_hours', 'sent'])
  })
})
