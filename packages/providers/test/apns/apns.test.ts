import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type ApnsFake, startApns } from '@gatehouse/fakes'
import { manualClock } from '@gatehouse/kit'
import type { Provider } from '../../src/index.ts'
import { measurePush } from '../../src/push-sizes.ts'
import { build, message, present, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const deviceToken = 'ab'.repeat(32)
const minuteMs = 60_000

function entryOf(fake: ApnsFake, declared: Record<string, unknown> = {}) {
  const { key, keyId: key_id, teamId: team_id, topic, url } = fake
  return { provider: 'apns', key, key_id, team_id, topic, url, ...declared }
}

const setup = (t: TestEnd, declared: Record<string, unknown> = {}, clock = present(), settings: object = {}) =>
  rehearse(t, startApns(settings), (fake) => entryOf(fake, declared), { clock })

const push = (fields: object = {}) =>
  message({ channel: 'push', target: { id: 'phone', address: deviceToken, service: 'apns' }, ...fields })

const sendMany = (provider: Provider, count: number) =>
  provider.send(
    Array.from({ length: count }, (_, index) => push({ id: `d.${index}` })),
    new AbortController().signal,
  )

test('a push to APNs is an alert that a second one with its id replaces', async (t) => {
  const { fake, provider, clock } = await setup(t, { ttl_seconds: 60 })
  const sent = push({ id: 'd.phone' })
  const result = await sendOne(provider, sent)
  const [{ headers, payload, deviceToken: token } = assert.fail()] = fake.requests
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: headers['apns-id'] })
  const { 'apns-id': _, ...rest } = headers
  assert.deepEqual(rest, {
    'apns-topic': 'com.example.app',
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-expiration': String(Math.floor(clock.now() / 1_000) + 60),
    'apns-collapse-id': 'd.phone',
  })
  assert.equal(token, deviceToken)
  assert.deepEqual(payload, {
    aps: { alert: { title: 'Order A-1', body: 'Order A-1 left.' }, sound: 'default' },
    delivery_id: sent.deliveryId,
    notification_id: sent.notificationId,
    event: 'order.shipped',
  })
  await sendOne(provider, sent)
  assert.equal(fake.requests[1]?.headers['apns-id'], headers['apns-id'], 'a repeat has the same id')
})

test('an id that no header field can carry is hashed, identically at every attempt', async (t) => {
  const { fake, provider } = await setup(t)
  for (const id of ['d.Anna’s iPhone', 'd.Anna’s iPhone', 'd.Ben’s iPhone', 'd.café'])
    assert.equal((await sendOne(provider, push({ id }))).kind, 'accepted', id)
  const [first, again, ...others] = fake.requests.map(({ headers }) => headers['apns-collapse-id'])
  assert.match(first ?? '', /^[\w-]{43}$/)
  assert.equal(first, again)
  assert.equal(new Set([first, ...others]).size, 3)
})

const reasons = [
  [400, 'BadDeviceToken', 'dead_token'],
  [400, 'DeviceTokenNotForTopic', 'dead_token'],
  [400, 'PayloadEmpty', 'permanent'],
  [400, 'BadPriority', 'permanent'],
  [400, 'BadExpirationDate', 'permanent'],
  [400, 'BadCollapseId', 'permanent'],
  [400, 'BadTopic', 'misconfigured'],
  [400, 'MissingTopic', 'misconfigured'],
  [400, 'TopicDisallowed', 'misconfigured'],
  [400, 'InvalidPushType', 'misconfigured'],
  [400, 'IdleTimeout', 'transient'],
  [403, 'InvalidProviderToken', 'misconfigured'],
  [403, 'MissingProviderToken', 'misconfigured'],
  [403, 'BadCertificateEnvironment', 'misconfigured'],
  [403, 'Forbidden', 'misconfigured'],
  [404, 'BadPath', 'misconfigured'],
  [405, 'MethodNotAllowed', 'misconfigured'],
  [410, 'Unregistered', 'dead_token'],
  [410, 'ExpiredToken', 'dead_token'],
  [413, 'PayloadTooLarge', 'permanent'],
  [429, 'TooManyRequests', 'rate_limited'],
  [429, 'TooManyProviderTokenUpdates', 'rate_limited'],
  [500, 'InternalServerError', 'transient'],
  [503, 'ServiceUnavailable', 'transient'],
  [503, 'Shutdown', 'transient'],
  [400, undefined, 'permanent'],
  [403, undefined, 'misconfigured'],
] as const

test('every reason of APNs has its result', async (t) => {
  const { fake, provider } = await setup(t)
  await sendOne(provider, push())
  for (const [status, reason, kind] of reasons) {
    fake.answerNext({ status, body: reason === undefined ? 'not json' : { reason } })
    const result = await sendOne(provider, push())
    assert.equal(result.kind, kind, `${status} ${reason}`)
    if (result.kind === 'rate_limited')
      assert.equal(result.accountWide === true, reason !== 'TooManyRequests', 'one device')
  }
})

test('a device is dead since the time that APNs returns, at the latest since the call', async (t) => {
  const { fake, provider, clock } = await setup(t)
  const gone = (timestamp: unknown) => ({ status: 410, body: { reason: 'Unregistered', timestamp } })
  const since = clock.now() - 86_400_000
  const cases = [
    [since, since],
    [clock.now() + 86_400_000, clock.now()],
    ['soon', clock.now()],
    [undefined, clock.now()],
  ] as const
  for (const [timestamp, expected] of cases) {
    fake.answerNext(gone(timestamp))
    const result = await sendOne(provider, push())
    assert.deepEqual(result.kind === 'dead_token' && result.at, expected)
  }
})

test('an unknown token does not make a device dead before a first push was accepted', async (t) => {
  const { fake, provider } = await setup(t, { topic: 'com.example.other' })
  const result = await sendOne(provider, push())
  assert.equal(result.kind, 'permanent')
  assert.match('reason' in result ? result.reason : '', /environment or topic/)
  assert.deepEqual(fake.refusals, ['DeviceTokenNotForTopic'])
})

test('the key of another team is misconfigured', async (t) => {
  const { fake } = await setup(t)
  const provider = build(entryOf(fake, { team_id: 'XYZ1234567' }), { clock: present() })
  t.after(() => provider.close?.())
  assert.equal((await sendOne(provider, push())).kind, 'misconfigured')
})

test('a provider token is used for half an hour, whatever starts in between', async (t) => {
  const halfHour = 30 * minuteMs
  const clock = manualClock(Math.floor(Date.now() / halfHour) * halfHour - halfHour + minuteMs)
  const { fake, provider } = await setup(t, {}, clock)
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  clock.advance(28 * minuteMs)
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  clock.advance(2 * minuteMs)
  assert.equal((await sendOne(provider, push())).kind, 'rate_limited', 'the fake saw the first token just now')
  assert.deepEqual(fake.refusals, ['TooManyProviderTokenUpdates'])
  fake.cut()
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
})

test('a rejected provider token is replaced once, but not sooner than Apple allows', async (t) => {
  const halfHour = 30 * minuteMs
  const clock = manualClock(Math.floor(Date.now() / halfHour) * halfHour - halfHour + minuteMs)
  const { fake, provider } = await setup(t, {}, clock, { tokenSeconds: 0 })
  const expired = { status: 403, body: { reason: 'ExpiredProviderToken' } }
  fake.answerNext(expired)
  assert.equal((await sendOne(provider, push())).kind, 'misconfigured')
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  clock.advance(21 * minuteMs)
  fake.answerNext(expired)
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  fake.answerNext(expired)
  assert.equal((await sendOne(provider, push())).kind, 'misconfigured')
})

test('a provider token from a clock that was ahead is not used once the clock is right', async (t) => {
  const clock = manualClock(Date.now() + 24 * 60 * minuteMs)
  const { provider } = await setup(t, {}, clock)
  assert.equal((await sendOne(provider, push())).kind, 'misconfigured', 'the token is from the future')
  clock.set(Date.now())
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
})

test('a rejected provider token is replaced after the clock was set back behind its first use', async (t) => {
  const halfHour = 30 * minuteMs
  const begin = Math.floor(Date.now() / halfHour) * halfHour - halfHour
  const clock = manualClock(begin + 29 * minuteMs)
  const { fake, provider } = await setup(t, {}, clock, { tokenSeconds: 0 })
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  clock.set(begin + minuteMs)
  fake.answerNext({ status: 403, body: { reason: 'ExpiredProviderToken' } })
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
})

test('a connection carries as many pushes as the server allows before another is opened', async (t) => {
  const { fake, provider } = await setup(t, { connections: 2 }, present(), { streams: 5 })
  const results = await sendMany(provider, 60)
  assert.deepEqual([...new Set(results.map(({ kind }) => kind))], ['accepted'])
  assert.equal(fake.requests.length, 60)
  assert.equal(fake.connections(), 2)
  assert.ok(fake.maxStreams() <= 5)
})

test('pushes after GOAWAY use a new connection, and none is lost', async (t) => {
  const { fake, provider } = await setup(t, { connections: 1 })
  await sendMany(provider, 3)
  fake.goAway()
  const results = await sendMany(provider, 20)
  const after = await sendMany(provider, 3)
  assert.deepEqual([...new Set([...results, ...after].map(({ kind }) => kind))].sort(), ['accepted'])
  assert.equal(fake.connections(), 2)
})

test('a connection that breaks leaves its pushes ambiguous; the next push succeeds', async (t) => {
  const { fake, provider } = await setup(t)
  fake.answerNext('drop')
  assert.equal((await sendOne(provider, push())).kind, 'ambiguous')
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  fake.cut()
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
})

test('an APNs that hangs is ambiguous after the timeout; an absent one is transient', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.2 })
  fake.answerNext('hang')
  assert.equal((await sendOne(provider, push())).kind, 'ambiguous')
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  await fake.stop()
  assert.equal((await sendOne(provider, push())).kind, 'transient')
})

test('a push is sent up to the size that is measured, and not one byte more', async (t) => {
  const { provider } = await setup(t)
  const sized = (body: string) => push({ content: { body, locale: 'en' } })
  const { bytes, maxBytes } = measurePush(sized('')).apns
  const room = 'x'.repeat(maxBytes - bytes)
  assert.equal(measurePush(sized(room)).apns.bytes, maxBytes)
  assert.equal((await sendOne(provider, sized(room))).kind, 'accepted')
  assert.equal((await sendOne(provider, sized(`${room}x`))).kind, 'permanent')
})

test('a push larger than the maximum of APNs is not sent', async (t) => {
  const { fake, provider } = await setup(t)
  const result = await sendOne(provider, push({ content: { body: 'ä'.repeat(2_000), locale: 'en' } }))
  assert.equal(result.kind === 'permanent' && result.code, 'PayloadTooLarge')
  assert.equal(fake.requests.length + fake.refusals.length, 0)
})

test("a key that is not one of Apple's is named in the error, and never printed", () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const entry = { provider: 'apns', key_id: 'ABC1234567', team_id: 'DEF1234567', topic: 'a' }
  for (const key of ['-----BEGIN hush', rsa])
    assert.throws(
      () => build({ ...entry, key }),
      (error: Error) => error instanceof RangeError && /^key is not a P-256 key/.test(error.message),
    )
  assert.throws(() => build({ ...entry, key: './none.p8' }), /key names the file .*none\.p8, which can't be read/)
})
