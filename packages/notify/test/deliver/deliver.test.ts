import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, type Log, silentLog } from '@gatehouse/kit'
import type { OutgoingMessage, Provider, SendResult } from '../../src/index.ts'
import { type Answer, eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }

/** A provider that answers as scripted, and remembers what it was sent. */
function scripted(answer: (message: OutgoingMessage, call: number) => SendResult, of: Partial<Provider> = {}) {
  const seen: OutgoingMessage[] = []
  const provider: Provider = {
    name: 'scripted',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map((message) => answer(message, seen.push(message))),
    ...of,
  }
  return { provider, seen }
}

const accepted: SendResult = { kind: 'accepted', providerMessageId: 'p1' }
const broken: SendResult = { kind: 'transient', reason: 'the provider answered 503' }

async function waitFor(s: Setup, id: string, wanted: (answer: Answer) => boolean): Promise<Answer> {
  return eventually(async () => {
    s.clock.advance(60_000)
    return s.call('GET', `/v1/notifications/${id}`)
  }, wanted)
}

const ended = ({ body }: Answer) => body.deliveries.some((d: { ended?: string }) => d.ended === 'dead_letter')
const isSent = ({ body }: Answer) => body.deliveries[0].state === 'sent'

test('a failing call is retried with the same id and at last becomes a dead letter', async (t) => {
  let healed = false
  const { provider, seen } = scripted(() => (healed ? accepted : broken))
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  await waitFor(s, body.id, ended)
  assert.equal(seen.length, 5)
  assert.deepEqual([...new Set(seen.map(({ id }) => id))], [body.deliveries[0].id])
  const list = await s.call('GET', '/v1/dead-letters?cause=attempts_exhausted&channel=email')
  assert.deepEqual(
    list.body.items.map((l: { id: string }) => l.id),
    [body.deliveries[0].id],
  )
  const letter = await s.call('GET', `/v1/dead-letters/${body.deliveries[0].id}`)
  assert.equal(letter.body.timeline.filter((e: { what: string }) => e.what === 'attempt_failed').length, 4)
  healed = true
  const replay = await s.call('POST', '/v1/dead-letters/replay', { cause: 'attempts_exhausted' })
  assert.equal(replay.body.replayed, 1)
  await waitFor(s, body.id, isSent)
  assert.equal((await s.call('GET', '/v1/dead-letters')).body.items.length, 0)
})

test('a permanent failure becomes a dead letter at once', async (t) => {
  const { provider, seen } = scripted(() => ({ kind: 'permanent', code: '550', reason: 'no such user' }))
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  await waitFor(s, body.id, ended)
  assert.equal(seen.length, 1)
  assert.equal((await s.call('DELETE', `/v1/dead-letters/${body.deliveries[0].id}`)).status, 204)
  const after = await s.call('GET', `/v1/notifications/${body.id}`)
  assert.equal(after.body.deliveries[0].ended, 'discarded')
})

test('a user who unsubscribes while a mail waits for a retry is sent critical mails alone', async (t) => {
  let unsubscribed = false
  const sent: string[] = []
  const { provider, seen } = scripted(({ event }) => {
    if (!unsubscribed) return broken
    sent.push(event)
    return accepted
  })
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'security.alert', { priority: 'critical' })
  const { body: shipment } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  const { body: alert } = await s.call('POST', '/v1/notify', {
    ...shipped,
    event: 'security.alert',
    channels: ['email'],
  })
  await eventually(
    async () => seen.length,
    (calls) => calls >= 2,
  )
  const wish = { user_id: 'alice', channel: 'email', reason: 'unsubscribed' }
  assert.equal((await s.call('POST', '/v1/suppressions', wish)).status, 201)
  unsubscribed = true
  await waitFor(s, alert.id, isSent)
  await waitFor(s, shipment.id, ended)
  assert.deepEqual(sent, ['security.alert'])
  const letter = await s.call('GET', `/v1/dead-letters/${shipment.deliveries[0].id}`)
  assert.match(JSON.stringify(letter.body), /left out by now: unsubscribed/)
})

test('a rate limit is honoured and counts no attempt', async (t) => {
  const { provider, seen } = scripted((_, call) =>
    call <= 8 ? { kind: 'rate_limited', retryAfterMs: 5_000, reason: '429' } : accepted,
  )
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  await waitFor(s, body.id, isSent)
  assert.equal(seen.length, 9)
})

test('a push that fails three times falls back to email once; only failed devices are retried', async (t) => {
  const push = scripted(() => broken, { channel: 'push' })
  const email = scripted(() => accepted)
  const s = await setup({ providers: { push: [push.provider], email: [email.provider] } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push'] })
  await waitFor(s, body.id, ({ body: b }) => b.deliveries[1]?.state === 'sent')
  assert.equal(push.seen.length, 3)
  assert.equal(email.seen.length, 1)
  const both = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push', 'email'] })
  await waitFor(s, both.body.id, ended)
  assert.equal(email.seen.length, 2, 'email carried it already')
})

test('a push that no provider accepts falls back to email when its patience ends', async (t) => {
  let isFixed = false
  const push = scripted(() => (isFixed ? accepted : { kind: 'misconfigured', reason: 'the key was revoked' }), {
    channel: 'push',
  })
  const email = scripted(() => accepted)
  const providers = { push: [push.provider], email: [email.provider] }
  const s = await setup({ providers, options: { pushPatienceMs: 600_000 } })
  t.after(s.close)
  await seedEventType(s)
  const startedAt = s.clock.now()
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push'] })
  const after = await waitFor(s, body.id, ({ body: b }) => b.deliveries[1]?.state === 'sent')
  assert.equal(after.body.deliveries[0].ended, 'dead_letter')
  const dead = after.body.timeline.find((e: { what: string }) => e.what === 'dead_letter')
  assert.ok(Date.parse(dead.at) >= startedAt + 300_000, 'not before half of the time, when it was last put off')
  assert.ok(push.seen.length >= 2)
  const { body: letters } = await s.call('GET', '/v1/dead-letters?cause=waited_too_long')
  assert.match(letters.items[0].detail, /no provider accepted it in time/)
  isFixed = true
  await s.call('POST', '/v1/dead-letters/replay', { cause: 'waited_too_long' })
  await waitFor(s, body.id, isSent)
})

test('a provider that asks for a pause is not called in it; the next one is', async (t) => {
  let free = false
  const slow: SendResult = { kind: 'rate_limited', accountWide: true, retryAfterMs: 30_000, reason: '429' }
  const first = scripted(() => (free ? accepted : slow), { name: 'first' })
  const second = scripted(() => accepted, { name: 'second' })
  const caps = { total: 99, channels: {}, priorities: {} }
  const s = await setup({ providers: { email: [first.provider, second.provider] }, options: { caps } })
  t.after(s.close)
  await seedEventType(s)
  const send = () => s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  const waitUntilSent = (id: string) => eventually(() => s.call('GET', `/v1/notifications/${id}`), isSent)
  const { body: put } = await send()
  await eventually(
    async () => first.seen.length,
    (calls) => calls === 1,
  )
  await waitUntilSent((await send()).body.id)
  assert.equal(first.seen.length, 1)
  assert.equal(second.seen.length, 1)
  s.clock.advance(1_000)
  await waitUntilSent(put.id)
  assert.deepEqual([first.seen.length, second.seen.length], [1, 2], 'what it did not take went to the next one')
  free = true
  s.clock.advance(30_000)
  await waitUntilSent((await send()).body.id)
  assert.deepEqual([first.seen.length, second.seen.length], [2, 2])
})

test('a fallback does not enter a channel that a stored preference excludes', async (t) => {
  const push = scripted(() => ({ kind: 'permanent', code: '400', reason: 'bad' }), { channel: 'push' })
  const email = scripted(() => accepted)
  const s = await setup({ providers: { push: [push.provider], email: [email.provider] } })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/preferences/order.shipped', { channels: ['push'] })
  const { body } = await s.call('POST', '/v1/notify', shipped)
  const { body: after } = await waitFor(s, body.id, ({ body: b }) => b.deliveries[1]?.ended === 'excluded')
  assert.equal(after.timeline.at(-1).detail.reason, 'preference')
  assert.equal(email.seen.length, 0)
})

test('a device that accepted the push is not sent it again, and an unregistered one is dead', async (t) => {
  const push = scripted(
    ({ target }, call) => {
      if (target.id === 'old') return { kind: 'dead_token', reason: 'Unregistered' }
      return target.id === 'tablet' || call > 4 ? accepted : broken
    },
    { channel: 'push' },
  )
  const s = await setup({ providers: { push: [push.provider] } })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/devices/tablet', { token: 't2' })
  await s.call('PUT', '/v1/users/alice/devices/old', { token: 't3' })
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push'] })
  await waitFor(s, body.id, ({ body: b }) => b.timeline.filter((e: { what: string }) => e.what === 'sent').length === 2)
  assert.deepEqual(push.seen.map(({ target }) => target.id).sort(), ['old', 'phone', 'phone', 'phone', 'tablet'])
  const { body: devices } = await s.call('GET', '/v1/users/alice/devices')
  assert.deepEqual(
    devices.items
      .map((d: { device_id: string; dead_at?: string }) => [d.device_id, d.dead_at !== undefined])
      .toSorted(),
    [
      ['old', true],
      ['phone', false],
      ['tablet', false],
    ],
  )
})

test('a breaker opens when most calls of its provider fail, and the second provider is called', async (t) => {
  const first = scripted(() => broken, { name: 'first' })
  const second = scripted(() => accepted, { name: 'second' })
  const breaker = { windowMs: 60_000, minCalls: 5, failureRate: 0.5, openMs: 3_600_000, maxOpenMs: 3_600_000 }
  const s = await setup({
    providers: { email: [first.provider, second.provider] },
    options: { breaker, caps: { total: 99, channels: {}, priorities: {} } },
  })
  t.after(s.close)
  await seedEventType(s)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })),
  )
  for (const { body } of answers) await waitFor(s, body.id, isSent)
  assert.equal(second.seen.length, 10)
  const before = first.seen.length
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  await waitFor(s, body.id, isSent)
  assert.equal(first.seen.length, before, 'the open breaker lets nothing through')
})

test('a template that fails makes a dead letter of its delivery alone; a replay renders again', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/templates/order.shipped/sms/en', {
    body: '{{ order_id | divided_by: 0 | times: "x" | date: 3 | where_exp: "a", "(" }}',
  })
  const { body } = await s.call('POST', '/v1/notify', shipped)
  assert.deepEqual(
    body.deliveries.map((d: { outcome: string }) => d.outcome),
    ['queued', 'queued', 'failed', 'queued'],
  )
  await s.call('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Order {{ order_id }}' })
  assert.equal((await s.call('POST', `/v1/dead-letters/${body.deliveries[2].id}/replay`)).status, 200)
  await waitFor(s, body.id, ({ body: b }) => b.deliveries[2].state === 'sent')
})

test('sensitive events leave no data behind once they are sent', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s, 'password.reset', { sensitive: true, priority: 'critical' })
  const { body } = await s.call('POST', '/v1/notify', {
    event: 'password.reset',
    user_id: 'alice',
    data: { order_id: 'hush' },
    channels: ['email', 'sms'],
  })
  const after = await waitFor(s, body.id, ({ body: b }) =>
    b.deliveries.every((d: { state: string }) => d.state === 'sent'),
  )
  assert.ok(!JSON.stringify(after.body).includes('hush'))
  const { rows } = await s.database.query<{ data: unknown }>('SELECT data FROM notify.notification')
  assert.deepEqual(rows, [{ data: null }])
  assert.equal((await s.database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 0)
})

test('a rejected credential opens the breaker at once, is logged once and counts no attempt', async (t) => {
  const metrics = createMetrics()
  const lines: unknown[] = []
  const log = { ...silentLog, error: (line: unknown) => lines.push(line) } as unknown as Log
  const first = scripted(() => ({ kind: 'misconfigured', reason: '535 authentication failed' }), { name: 'first' })
  const second = scripted(() => accepted, { name: 'second' })
  const s = await setup({ providers: { email: [first.provider, second.provider] }, metrics, log })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  const after = await eventually(async () => {
    s.clock.advance(2_000)
    return s.call('GET', `/v1/notifications/${body.id}`)
  }, isSent)
  assert.equal(first.seen.length, 1)
  assert.deepEqual(
    after.body.timeline.slice(-2).map((e: { what: string }) => e.what),
    ['postponed', 'sent'],
  )
  assert.match(await metrics.metrics(), /notify_provider_misconfigured_total\{provider="first"\} 1\b/)
  assert.deepEqual(lines, [{ provider: 'first', channel: 'email', reason: '535 authentication failed' }])
})

test('a rejected credential without another provider delays deliveries and ends none', async (t) => {
  let isFixed = false
  const only = scripted(() => (isFixed ? accepted : { kind: 'misconfigured', reason: 'the key was revoked' }))
  const s = await setup({ providers: { email: [only.provider] } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  await waitFor(s, body.id, () => only.seen.length >= 8)
  assert.equal((await s.call('GET', '/v1/dead-letters')).body.items.length, 0)
  isFixed = true
  await waitFor(s, body.id, isSent)
})
