import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, silentLog } from '@gatehouse/kit'
import { defaultOptions, type Provider } from '../../src/index.ts'
import { purgeBuckets } from '../support/purge.ts'
import { type Answer, eventually, type Setup, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const reset = {
  event: 'password.reset',
  user_id: 'alice',
  data: { order_id: 'hush' },
  channels: ['email'],
} as const

/** A sensitive event type, and what the tables still hold of its data. */
async function setupSensitive(options: Parameters<typeof setup>[0] = {}, settings: object = {}): Promise<Setup> {
  const s = await setup(options)
  await seedEventType(s, 'password.reset', { sensitive: true, priority: 'critical', ...settings })
  return s
}

/** Where a message is kept for whom it is for. */
const shown = ['inbox', 'mailbox']

async function keptData({ database }: Setup): Promise<string> {
  const kept = []
  const tables = await database.query<{ table_name: string }>(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'notify'",
  )
  for (const { table_name: table } of tables.rows)
    if (!shown.includes(table)) kept.push(...(await database.query(`SELECT * FROM notify.${table}`)).rows)
  return JSON.stringify(kept)
}

const timelineOf = ({ body }: Answer): string[] => body.timeline.map((entry: { what: string }) => entry.what)

test('a report that arrives before its acceptance is recorded leaves no sensitive data', async (t) => {
  let s: Setup | undefined
  const provider: Provider = {
    name: 'hasty',
    channel: 'email',
    timeoutMs: 1_000,
    async send([message]) {
      const deliveryId = message?.deliveryId ?? assert.fail('nothing to send')
      const at = s?.clock.now() ?? 0
      await s?.store.deliveries.report([{ provider: 'hasty', eventId: 'e1', deliveryId, report: 'delivered', at }], at)
      return [{ kind: 'accepted', providerMessageId: 'p1' }]
    },
  }
  s = await setupSensitive({ providers: { email: [provider] } })
  t.after(s.close)
  const setUp = s
  const { body } = await s.call('POST', '/v1/notify', reset)
  const found = await eventually(
    () => setUp.call('GET', `/v1/notifications/${body.id}`),
    (answer) => timelineOf(answer).includes('sent'),
  )
  assert.deepEqual(timelineOf(found).slice(2), ['queued', 'delivered', 'sent'])
  assert.equal(found.body.deliveries[0].state, 'delivered')
  assert.doesNotMatch(await keptData(s), /hush/)
  const { rows } = await s.database.query('SELECT provider, provider_message_id FROM notify.delivery')
  assert.deepEqual(rows, [{ provider: 'hasty', provider_message_id: 'p1' }])
})

test('a sensitive event without a reachable channel leaves no data behind', async (t) => {
  const s = await setupSensitive()
  t.after(s.close)
  await s.call('PUT', '/v1/recipients/bob', { email: 'bob@example.com' })
  const nobody = await s.call('POST', '/v1/notify', { ...reset, user_id: 'nobody' })
  assert.equal(nobody.body.deliveries[0].outcome, 'no_recipient')
  await s.call('POST', '/v1/suppressions', { user_id: 'bob', channel: 'email', address: 'bob@example.com' })
  await s.database.query("UPDATE notify.suppression SET reason = 'bounced'")
  const bounced = await s.call('POST', '/v1/notify', { ...reset, user_id: 'bob' })
  assert.equal(bounced.body.deliveries[0].outcome, 'undeliverable')
  assert.doesNotMatch(await keptData(s), /hush/)
})

test('a deferred sensitive event that may no longer be sent leaves no data behind', async (t) => {
  const s = await setupSensitive({}, { priority: 'normal' })
  t.after(s.close)
  s.clock.set(Date.parse('2026-06-01T23:30:00Z'))
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  const { body } = await s.call('POST', '/v1/notify', reset)
  assert.equal(body.deliveries[0].outcome, 'deferred')
  await s.call('DELETE', '/v1/recipients/alice')
  s.clock.set(Date.parse('2026-06-02T08:00:01Z'))
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => timelineOf(answer).includes('no_recipient'),
  )
  assert.doesNotMatch(await keptData(s), /hush/)
})

for (const [how, remove] of [
  [
    'discarded',
    async (s: Setup) => assert.equal((await s.call('POST', '/v1/dead-letters/discard', {})).body.discarded, 1),
  ],
  [
    'purged for its age',
    async ({ store, clock }: Setup) => {
      const retention = { ...defaultOptions.retention, deadLetterDays: 7 }
      assert.equal(await purgeBuckets(store, retention, clock.now() + 6 * 86_400_000), 0)
      // The calls of the provider are as old, where they are stored already.
      assert.ok((await purgeBuckets(store, retention, clock.now() + 8 * 86_400_000)) >= 1)
    },
  ],
] as const)
  test(`a dead letter of a sensitive event keeps its message only until it is ${how}`, async (t) => {
    const refusing: Provider = {
      name: 'refusing',
      channel: 'email',
      timeoutMs: 1_000,
      send: async () => [{ kind: 'permanent', code: '550', reason: 'no such user' }],
    }
    const s = await setupSensitive({ providers: { email: [refusing] } })
    t.after(s.close)
    await s.call('POST', '/v1/notify', reset)
    await eventually(
      () => s.call('GET', '/v1/dead-letters'),
      ({ body }) => body.items.length === 1,
    )
    assert.match(await keptData(s), /hush/)
    await remove(s)
    assert.doesNotMatch(await keptData(s), /hush/)
  })

test('aggregated sensitive events leave no data behind once they are sent', async (t) => {
  const s = await setupSensitive({}, { priority: 'normal', aggregation: { threshold: 1, actor: 'who' } })
  t.after(s.close)
  for (const who of ['Ann', 'Bob']) await s.call('POST', '/v1/notify', { ...reset, data: { who, order_id: 'hush' } })
  s.clock.advance(300_000)
  await eventually(
    () => s.call('GET', '/dev/mailbox'),
    ({ body }) => body.messages.length === 1,
  )
  await eventually(
    () => s.database.query("SELECT 1 FROM notify.delivery WHERE state = 'sent'"),
    ({ rowCount }) => rowCount === 1,
  )
  assert.doesNotMatch(await keptData(s), /hush/)
})

test('a scheduled or parked sensitive event leaves no data behind once it is sent', async (t) => {
  const { topic, deliver, published } = createManualTopic()
  const s = await setupSensitive({ topic, tables: { streaming: true } }, { rate_limit: { limit: 1, per_seconds: 60 } })
  t.after(s.close)
  const later = new Date(s.clock.now() + 60_000).toISOString()
  await s.call('POST', '/v1/scheduled', { fire_at: later, payload: reset })
  for (const place of [1, 2]) assert.equal(await deliver(place, reset), 'ack')
  assert.match(await keptData(s), /hush/)
  s.clock.advance(60_000)
  await eventually(
    () => s.database.query("SELECT 1 FROM notify.delivery WHERE state = 'sent'"),
    ({ rowCount }) => rowCount === 3,
  )
  assert.doesNotMatch(await keptData(s), /hush/)
  await eventually(
    async () => published,
    (events) => events.length === 3,
  )
  assert.doesNotMatch(JSON.stringify(published), /hush/)
})

test('a sensitive message that a provider quotes is redacted in timeline and dead letters', async (t) => {
  const answers = ['451 try later', '550 refused: Order hunter2 left.']
  const quoting: Provider = {
    name: 'quoting',
    channel: 'email',
    timeoutMs: 1_000,
    async send() {
      const reason = answers.shift() ?? '550 hunter2'
      return [reason.startsWith('4') ? { kind: 'transient', reason } : { kind: 'permanent', code: '550', reason }]
    },
  }
  const s = await setupSensitive({ providers: { email: [quoting] } })
  t.after(s.close)
  const { body } = await s.call('POST', '/v1/notify', { ...reset, data: { order_id: 'hunter2' } })
  const found = await eventually(
    async () => {
      s.clock.advance(10_000)
      return s.call('GET', `/v1/notifications/${body.id}`)
    },
    (answer) => timelineOf(answer).includes('dead_letter'),
  )
  const letter = await s.call('GET', `/v1/dead-letters/${body.deliveries[0].id}`)
  const words = JSON.stringify([found.body, letter.body])
  assert.doesNotMatch(words, /hunter2/)
  assert.match(words, /451 try later/)
  assert.match(letter.body.detail, /550: removed: it quotes/)
})

test('a sensitive push that falls back to email leaves no data once its dead letter is gone', async (t) => {
  const refusing: Provider = {
    name: 'refusing',
    channel: 'push',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'permanent', code: '400', reason: 'bad' })),
  }
  const carrying: Provider = {
    name: 'carrying',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'accepted' })),
  }
  const s = await setupSensitive({ providers: { push: [refusing], email: [carrying] } })
  t.after(s.close)
  const { body } = await s.call('POST', '/v1/notify', { ...reset, channels: ['push'] })
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => answer.body.deliveries[1]?.state === 'sent',
  )
  await s.call('DELETE', `/v1/dead-letters/${body.deliveries[0].id}`)
  assert.doesNotMatch(await keptData(s), /hush/)
})

test('a rejected credential leaves nothing of the message it quotes in log and store', async (t) => {
  const provider: Provider = {
    name: 'quoting',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(({ content }) => ({ kind: 'misconfigured', reason: `535 refused: ${content.body}` })),
  }
  const lines: object[] = []
  const log = { ...silentLog, error: (line: object) => lines.push(line) } as unknown as Log
  const s = await setupSensitive({ providers: { email: [provider] }, log })
  t.after(s.close)
  await s.call('POST', '/v1/notify', { ...reset, data: { order_id: 'hush-hush-2' } })
  await eventually(
    () => s.call('GET', '/v1/providers/quoting'),
    ({ body }) => body.state === 'misconfigured',
  )
  assert.match(JSON.stringify(lines), /quotes a sensitive message/)
  const { rows } = await s.database.query('SELECT * FROM notify.provider_health')
  assert.equal(rows.length, 1)
  assert.doesNotMatch(JSON.stringify([lines, rows]), /hush/)
})
