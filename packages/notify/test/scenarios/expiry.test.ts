import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, manualClock } from '@gatehouse/kit'
import type { Provider } from '../../src/index.ts'
import {
  begun,
  code,
  expiresAt,
  minute,
  readData,
  readNotification,
  setupCodes,
  ttl_seconds,
  ttlMs,
  untilEnded,
} from '../support/expiring-codes.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

test('a code whose provider fails until it expires is not sent and is recorded as expired', async (t) => {
  const metrics = createMetrics()
  const { topic, published } = createManualTopic()
  const { s, clock, calls, answer } = await setupCodes(t, { metrics, topic, tables: { streaming: true } })
  answer.now = { kind: 'transient', reason: '503', retryAfterMs: 10 * minute }
  const { body } = await s.call('POST', '/v1/notify', code)
  await eventually(
    async () =>
      (await s.database.query<{ due_at: number }>('SELECT due_at FROM notify.delivery_queue WHERE failures = 1')).rows,
    (rows) => rows[0]?.due_at === begun + ttlMs,
  )
  answer.now = { kind: 'accepted' }
  clock.advance(ttlMs)
  const { expires_at, deliveries, timeline } = await untilEnded(s, body.id)
  const [{ outcome, state, ended }] = deliveries
  assert.deepEqual([expires_at, outcome, state, ended], [expiresAt, 'expired', 'queued', 'expired'])
  const { what, detail } = timeline.at(-1)
  assert.deepEqual([what, detail.expires_at], ['expired', expiresAt])
  assert.equal(calls.length, 1)
  assert.deepEqual(await readData(s), [{ data: null }], 'sensitive data is gone')
  assert.deepEqual((await s.call('GET', '/v1/dead-letters')).body.items, [])
  assert.equal((await s.database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 0)
  const counter = await metrics.getSingleMetric('notify_expired_total')?.get()
  assert.deepEqual(counter?.values, [{ labels: { channel: 'email' }, value: 1 }])
  await eventually(
    async () => published,
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    published.map(({ payload }) => [payload.delivery_id, payload.state, payload.ended, payload.event]),
    [[body.deliveries[0].id, 'queued', 'expired', code.event]],
  )
})

test('a code in the backlog of a new process is sent until one millisecond before its expiry', async (t) => {
  for (const [waitedMs, expected] of [
    [ttlMs - 1, 'sent'],
    [ttlMs, 'expired'],
  ] as const) {
    const { s, clock, calls, start } = await setupCodes(t, { work: false })
    const { body } = await s.call('POST', '/v1/notify', code)
    clock.advance(waitedMs)
    await start()
    const { deliveries } = await eventually(
      () => readNotification(s, body.id),
      ({ deliveries: [{ state, ended }] }) => state === 'sent' || ended !== undefined,
    )
    assert.deepEqual(
      [deliveries[0].ended ?? deliveries[0].state, calls.length],
      [expected, expected === 'sent' ? 1 : 0],
    )
  }
})

test('a code that expires while it waits for a slot is not sent', async (t) => {
  const first = Promise.withResolvers<void>()
  const bodies: string[] = []
  const slow: Provider = {
    name: 'slow',
    channel: 'email',
    timeoutMs: 30_000,
    async send(messages) {
      bodies.push(...messages.map(({ content }) => content.body))
      if (bodies.length === 1) await first.promise
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const { s, clock, start } = await setupCodes(t, { work: false })
  const ids: string[] = []
  for (const order_id of ['first', 'second'])
    ids.push((await s.call('POST', '/v1/notify', { ...code, data: { order_id } })).body.id)
  const concurrency = { push: 1, email: 1, sms: 1, 'in-app': 1 }
  await start({ providers: { email: [slow] }, options: { concurrency } })
  await eventually(
    async () => (await s.database.query('SELECT 1 FROM notify.delivery_queue WHERE lease_until IS NOT NULL')).rowCount,
    (leased) => leased === 2 && bodies.length === 1,
  )
  clock.advance(ttlMs)
  first.resolve()
  const { deliveries } = await untilEnded(s, ids[1] ?? '')
  assert.deepEqual([deliveries[0].ended, bodies], ['expired', ['Order first left.']])
})

test('an expired dead letter is not replayed, and another one is', async (t) => {
  const { s, clock, calls, answer } = await setupCodes(t)
  answer.now = { kind: 'permanent', code: '550', reason: 'no' }
  const letters = async () => (await s.call('GET', '/v1/dead-letters')).body.items
  await s.call('POST', '/v1/notify', code)
  await eventually(letters, ({ length }) => length === 1)
  const [{ id, expires_at }] = await letters()
  assert.equal(expires_at, expiresAt)
  answer.now = { kind: 'accepted' }
  const tooLate = { at: new Date(begun + ttlMs).toISOString() }
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', tooLate)).body, { replayed: 0, expired: 1 })
  clock.advance(ttlMs - 1)
  assert.deepEqual((await s.call('POST', `/v1/dead-letters/${id}/replay`)).body, { replayed: 1 })
  await eventually(
    async () => calls,
    ({ length }) => length === 2,
  )
  answer.now = { kind: 'permanent', code: '550', reason: 'no' }
  await s.call('POST', '/v1/notify', code)
  await eventually(letters, ({ length }) => length === 1)
  clock.advance(ttlMs)
  const [late] = await letters()
  const { status, body } = await s.call('POST', `/v1/dead-letters/${late.id}/replay`)
  assert.equal(status, 409)
  assert.match(body.detail, /has expired/)
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', {})).body, { replayed: 0, expired: 1 })
  assert.equal((await s.call('DELETE', `/v1/dead-letters/${late.id}`)).status, 204)
})

test('a replay that was in time is not sent once it has expired', async (t) => {
  const { s, clock, calls, answer } = await setupCodes(t)
  answer.now = { kind: 'permanent', code: '550', reason: 'no' }
  const { body } = await s.call('POST', '/v1/notify', code)
  await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    (found) => found.body.items.length === 1,
  )
  const at = new Date(begun + 2 * minute).toISOString()
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', { at })).body.replayed, 1)
  clock.advance(ttlMs)
  const { deliveries } = await eventually(
    () => readNotification(s, body.id),
    ({ deliveries: [{ ended }] }) => ended === 'expired',
  )
  assert.deepEqual([deliveries[0].state, calls.length], ['queued', 1])
})

test('a message whose template fails after its expiry is not planned again', async (t) => {
  const { s, clock, calls } = await setupCodes(t)
  await s.call('DELETE', `/v1/templates/${code.event}/email/en`)
  await s.call('POST', '/v1/notify', code)
  const [letter] = (await s.call('GET', '/v1/dead-letters')).body.items
  assert.deepEqual([letter.cause, letter.expires_at], ['template', expiresAt])
  await s.call('PUT', `/v1/templates/${code.event}/email/en`, { subject: 'x', body: 'y' })
  clock.advance(ttlMs)
  assert.equal((await s.call('POST', `/v1/dead-letters/${letter.id}/replay`)).status, 409)
  assert.deepEqual(calls, [])
})

test('a message that expires in quiet hours ends then, and explain shows it before', async (t) => {
  const { topic, published } = createManualTopic()
  const options = { topic, tables: { streaming: true } }
  const { s, clock, calls } = await setupCodes(t, options, { priority: 'normal' })
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '11:00', end: '14:00' } })
  const { body: explained } = await s.call('POST', '/v1/explain', code)
  const [{ outcome, reason, until }] = explained.channels
  assert.deepEqual(
    [explained.expires_at, outcome, reason, until],
    [expiresAt, 'deferred', 'quiet hours, in which it expires', expiresAt],
  )
  const { body } = await s.call('POST', '/v1/notify', code)
  assert.equal(body.deliveries[0].outcome, 'deferred')
  clock.advance(ttlMs)
  const { deliveries, timeline } = await untilEnded(s, body.id)
  assert.deepEqual([deliveries[0].outcome, deliveries[0].state, deliveries[0].ended], ['expired', 'queued', 'expired'])
  assert.equal(timeline.at(-1).what, 'expired')
  assert.deepEqual(await readData(s), [{ data: null }])
  await eventually(
    async () => published.map(({ payload }) => [payload.state, payload.ended]),
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    published.map(({ payload }) => [payload.delivery_id, payload.state, payload.ended]),
    [[body.deliveries[0].id, 'queued', 'expired']],
  )
  assert.deepEqual(calls, [])
})

test('a push falls back to email only before it expires', async (t) => {
  const clock = manualClock(begun)
  const dead: Provider = {
    name: 'push',
    channel: 'push',
    timeoutMs: 1_000,
    async send(messages) {
      clock.advance(ttlMs)
      return messages.map(() => ({ kind: 'permanent', code: '400', reason: 'no' }))
    },
  }
  const mails: unknown[] = []
  const mail: Provider = {
    name: 'mail',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      mails.push(...messages)
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setup({ clock, providers: { push: [dead], email: [mail] } })
  t.after(s.close)
  await seedEventType(s, code.event, { ttl_seconds })
  const { body } = await s.call('POST', '/v1/notify', { ...code, channels: ['push'] })
  const { deliveries } = await eventually(
    () => readNotification(s, body.id),
    (found) => found.deliveries.length === 2 && found.deliveries[1].ended !== undefined,
  )
  assert.deepEqual(
    deliveries.map(({ channel, ended }: { channel: string; ended: string }) => [channel, ended]),
    [
      ['push', 'dead_letter'],
      ['email', 'expired'],
    ],
  )
  assert.deepEqual(mails, [])
})

test('an event type without a ttl is sent however late it is', async (t) => {
  const { s, clock, calls, start } = await setupCodes(t, { work: false }, { ttl_seconds: undefined })
  const { body } = await s.call('POST', '/v1/notify', code)
  clock.advance(7 * 86_400_000)
  await start()
  await eventually(
    () => readNotification(s, body.id),
    ({ deliveries }) => deliveries[0].state === 'sent',
  )
  assert.equal(calls.length, 1)
  assert.equal((await readNotification(s, body.id)).expires_at, undefined)
})

test('the ttl of an event type is stored as given, and must be a whole number of seconds', async (t) => {
  const { s } = await setupCodes(t)
  const path = `/v1/event-types/${code.event}`
  assert.equal((await s.call('GET', path)).body.ttl_seconds, ttl_seconds)
  const listed = (await s.call('GET', '/v1/event-types')).body.items
  assert.equal(listed.find(({ event }: { event: string }) => event === code.event).ttl_seconds, ttl_seconds)
  for (const wrong of [0, -1, 1.5, '300', 31_536_001, null]) {
    const { status, body } = await s.call('PUT', path, { channels: ['email'], ttl_seconds: wrong })
    assert.equal(status, 400, JSON.stringify(wrong))
    assert.match(JSON.stringify(body.errors), /ttl_seconds/)
  }
  await s.call('PUT', path, { channels: ['email'] })
  assert.equal((await s.call('GET', path)).body.ttl_seconds, undefined)
})

test('the ttl of a declared event type applies to its messages', async (t) => {
  const eventTypes = [{ event: 'sms.code', channels: ['in-app' as const], ttl_seconds }]
  const s = await setup({ declared: { eventTypes } })
  t.after(s.close)
  assert.equal((await s.call('GET', '/v1/event-types/sms.code')).body.ttl_seconds, ttl_seconds)
  const { body } = await s.call('POST', '/v1/explain', { event: 'sms.code', user_id: 'alice', data: {} })
  assert.equal(body.expires_at, new Date(s.clock.now() + ttlMs).toISOString())
})
