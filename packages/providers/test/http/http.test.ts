import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttp } from '@gatehouse/fakes'
import { parseWebhookKey, signWebhook } from '../../src/http/standard-webhooks.ts'
import { build, caught, message, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const other = `whsec_${Buffer.alloc(32, 4).toString('base64')}`

const setup = (t: TestEnd, declared: Record<string, unknown> = {}) =>
  rehearse(t, startHttp({ secret }), ({ url }) => ({ provider: 'http', url, secret, ...declared }))

test('the generic provider posts a message as signed JSON with its own id', async (t) => {
  const { fake, provider } = await setup(t)
  const target = { id: 'phone', address: 'a-token', service: 'huawei' }
  const sent = message({ channel: 'push', id: 'd.phone', target })
  const result = await sendOne(provider, sent)
  assert.equal(result.kind, 'accepted')
  const [{ webhookId, ...body } = assert.fail()] = fake.requests
  assert.equal(webhookId, 'd.phone')
  assert.deepEqual(body, {
    id: 'd.phone',
    delivery_id: sent.deliveryId,
    notification_id: sent.notificationId,
    user_id: 'alice',
    event: 'order.shipped',
    critical: false,
    channel: 'push',
    to: 'a-token',
    device_id: 'phone',
    service: 'huawei',
    subject: 'Order A-1',
    body: 'Order A-1 left.',
    locale: 'en',
  })
})

test('during a rotation the receiver may know the old secret or the new one', async (t) => {
  const { provider } = await setup(t, { secret: [other, secret] })
  assert.equal((await sendOne(provider)).kind, 'accepted')
})

test('a receiver that knows another secret makes the provider misconfigured', async (t) => {
  const { provider } = await setup(t, { secret: other })
  assert.equal((await sendOne(provider)).kind, 'misconfigured')
})

test('an invalid secret is named in the error', () => {
  assert.throws(
    () => build({ provider: 'http', url: 'http://localhost', secret: 'whsec_!' }),
    /^RangeError: secret must/,
  )
  assert.throws(() => build({ provider: 'http', url: 'http://', secret }), /^RangeError: url must/)
})

test('the generic provider supports the configured push services only', async (t) => {
  const { provider } = await setup(t, { services: ['huawei'] })
  const services = ['huawei', 'fcm'].map((service) => provider.supports?.({ id: 'a', address: 'b', service }))
  assert.deepEqual(services, [true, false])
})

const answers = [
  [
    { status: 200, body: { id: 'm-1' } },
    { kind: 'accepted', providerMessageId: 'm-1' },
  ],
  [{ status: 204 }, { kind: 'accepted' }],
  [{ status: 202, body: 'not json' }, { kind: 'accepted' }],
  [
    { status: 429, retryAfter: 9 },
    { kind: 'rate_limited', retryAfterMs: 9_000, accountWide: true },
  ],
  [{ status: 429 }, { kind: 'rate_limited', accountWide: true }],
  [
    { status: 503, retryAfter: 2 },
    { kind: 'transient', retryAfterMs: 2_000 },
  ],
  [{ status: 500 }, { kind: 'transient' }],
  [{ status: 408 }, { kind: 'transient' }],
  [{ status: 400 }, { kind: 'permanent', code: '400' }],
  [{ status: 422 }, { kind: 'permanent', code: '422' }],
  [{ status: 401 }, { kind: 'misconfigured' }],
  [{ status: 403 }, { kind: 'misconfigured' }],
  [{ status: 404 }, { kind: 'misconfigured' }],
  [{ status: 301 }, { kind: 'misconfigured' }],
  ['gone', { kind: 'permanent', code: '410', undeliverable: 'bounced' }],
] as const

test('every status of a receiver has its result', async (t) => {
  const { fake, provider } = await setup(t)
  for (const [behaviour, expected] of answers) {
    fake.answerNext(behaviour)
    const { reason: _, ...result } = { reason: '', ...(await sendOne(provider)) }
    assert.deepEqual(result, expected, JSON.stringify(behaviour))
  }
})

test('a push answered with 410 is dead since the call at the latest', async (t) => {
  const { fake, provider } = await setup(t)
  fake.answerNext('gone')
  const before = Date.now()
  const result = await sendOne(provider, message({ channel: 'push', target: { id: 'phone', address: 'a-token' } }))
  assert.equal(result.kind, 'dead_token')
  assert.ok(result.kind === 'dead_token' && (result.at ?? Number.POSITIVE_INFINITY) <= before)
})

test('a receiver that hangs, disconnects or never ends is handled; an absent one is transient', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.2 })
  fake.answerNext('drop')
  assert.equal((await sendOne(provider)).kind, 'ambiguous')
  fake.answerNext('hang')
  assert.equal((await sendOne(provider)).kind, 'ambiguous')
  fake.answerNext({ status: 400, body: 'x'.repeat(1_000_000) })
  const result = await sendOne(provider)
  assert.ok(result.kind === 'permanent' && result.reason.length < 500, 'a long answer is cut')
  await fake.stop()
  assert.equal((await sendOne(provider)).kind, 'transient')
})

test('reports to the generic provider are accepted if signed and recent, each with its id', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = message()
  await sendOne(provider, sent)
  const at = Date.now() - 60_000
  const [request = assert.fail()] = await caught(
    (to) =>
      fake.sendWebhook?.(to, [{ message: sent.id, what: 'bounced', soft: true, eventId: 'e-1', at }]) ?? assert.fail(),
    'https://gatehouse.example.com',
  )
  const now = Date.now()
  assert.deepEqual(await provider.reports?.read(request, now), {
    kind: 'reports',
    reports: [{ eventId: 'e-1', deliveryId: sent.deliveryId, report: 'bounced', at, soft: true }],
  })
  const forged = { ...request, body: Buffer.from(request.body.toString().replace('bounced', 'delivered')) }
  assert.equal((await provider.reports?.read(forged, now))?.kind, 'rejected')
  assert.equal((await provider.reports?.read(request, now + 301_000))?.kind, 'rejected')
})

const signed = (body: string) => {
  const id = 'e-2'
  const headers = signWebhook([parseWebhookKey(secret)], id, Date.now(), body)
  return { headers, body: Buffer.from(body), url: 'https://gatehouse.example.com/v1/webhooks/http' }
}

test('a signed report in another form is malformed; an unknown type is ignored', async (t) => {
  const { provider } = await setup(t)
  const delivery_id = message().deliveryId
  const kinds = [
    ['not json', 'malformed'],
    ['null', 'malformed'],
    ['[]', 'malformed'],
    [JSON.stringify({ type: 'message.delivered' }), 'malformed'],
    [JSON.stringify({ type: 'message.delivered', data: { delivery_id: 'x' } }), 'malformed'],
    [JSON.stringify({ type: 'message.delivered', timestamp: 'noon', data: { delivery_id } }), 'malformed'],
    [JSON.stringify({ type: 'message.delivered', data: { delivery_id } }), 'reports'],
    [JSON.stringify({ type: 'message.pondered', data: { delivery_id } }), 'reports'],
  ] as const
  for (const [body, kind] of kinds)
    assert.equal((await provider.reports?.read(signed(body), Date.now()))?.kind, kind, body)
  const left = await provider.reports?.read(signed(JSON.stringify({ type: 'message.pondered' })), Date.now())
  assert.deepEqual(left, { kind: 'reports', reports: [] })
})
