import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startFcm } from '@gatehouse/fakes'
import { manualClock } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { measurePush } from '../../src/push-sizes.ts'
import { build, message, present, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const setup = (t: TestEnd, declared: Record<string, unknown> = {}, clock = present()) =>
  rehearse(
    t,
    startFcm(),
    ({ serviceAccount, url }) => ({ provider: 'fcm', service_account: serviceAccount, url, ...declared }),
    { clock },
  )

const push = (fields: object = {}) =>
  message({ channel: 'push', target: { id: 'phone', address: 'a-device-token', service: 'fcm' }, ...fields })

test('a push to FCM is a notification that a second one with its id replaces', async (t) => {
  const { fake, provider, clock } = await setup(t, { ttl_seconds: 60 })
  const expiration = String(Math.floor(clock.now() / 1_000) + 60)
  const sent = push({ id: 'd.phone' })
  const result = await sendOne(provider, sent)
  assert.match(
    result.kind === 'accepted' ? (result.providerMessageId ?? '') : '',
    /^projects\/fake-project\/messages\//,
  )
  assert.deepEqual(fake.requests, [
    {
      token: 'a-device-token',
      notification: { title: 'Order A-1', body: 'Order A-1 left.' },
      data: { delivery_id: sent.deliveryId, notification_id: sent.notificationId, event: 'order.shipped' },
      android: { priority: 'HIGH', ttl: '60s', notification: { tag: 'd.phone' } },
      apns: { headers: { 'apns-collapse-id': 'd.phone', 'apns-priority': '10', 'apns-expiration': expiration } },
      webpush: { headers: { TTL: '60', Urgency: 'normal' }, notification: { tag: 'd.phone' } },
    },
  ])
})

test('FCM supports devices of its own service only', async (t) => {
  const { provider } = await setup(t)
  const services = ['fcm', 'apns', 'web'].map((service) => provider.supports?.({ id: 'a', address: 'b', service }))
  assert.deepEqual(services, [true, false, false])
})

test('an id longer than a collapse id is hashed, identically at every attempt', async (t) => {
  const { fake, provider } = await setup(t)
  const id = `d.${'x'.repeat(200)}`
  await sendOne(provider, push({ id }))
  await sendOne(provider, push({ id }))
  const tags = fake.requests.map(({ apns }) => apns?.headers?.['apns-collapse-id'])
  assert.equal(tags[0]?.length, 43)
  assert.equal(tags[0], tags[1])
})

const fcmError = (
  status: number,
  errorCode: string,
  code: string = errorCode,
  message: string = 'as published',
  more: readonly object[] = [],
) => ({
  status,
  body: {
    error: {
      code: status,
      message,
      status: code,
      details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }, ...more],
    },
  },
})
const invalidArgument = (message: string, ...more: object[]) =>
  fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', message, more)
const badRequest = (...fields: string[]) => ({
  status: 400,
  body: {
    error: {
      code: 400,
      message: 'as published',
      status: 'INVALID_ARGUMENT',
      details: [
        { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'INVALID_ARGUMENT' },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: fields.map((field) => ({ field, description: 'wrong' })),
        },
      ],
    },
  },
})

const thirdPartyError = fcmError(
  401,
  'THIRD_PARTY_AUTH_ERROR',
  'UNAUTHENTICATED',
  'Auth error from APNS or Web Push Service',
)

const answers = [
  [fcmError(400, 'INVALID_ARGUMENT'), 'dead_token'],
  [invalidArgument('The registration token is not a valid FCM registration token'), 'dead_token'],
  [badRequest('message.token'), 'dead_token'],
  [badRequest('message.data[0].value'), 'permanent'],
  [badRequest('message.token', 'message.data'), 'permanent'],
  [{ status: 400, body: 'not json' }, 'permanent'],
  [thirdPartyError, 'misconfigured'],
  [{ status: 401 }, 'misconfigured', 2],
  [fcmError(403, 'SENDER_ID_MISMATCH', 'PERMISSION_DENIED'), 'dead_token'],
  [{ status: 403 }, 'misconfigured'],
  [{ status: 404, body: { error: { code: 404, status: 'UNREGISTERED' } } }, 'dead_token'],
  [fcmError(404, 'UNREGISTERED', 'NOT_FOUND'), 'dead_token'],
  [{ status: 404 }, 'misconfigured'],
  [fcmError(429, 'QUOTA_EXCEEDED', 'RESOURCE_EXHAUSTED'), 'rate_limited'],
  [fcmError(500, 'INTERNAL'), 'transient'],
  [fcmError(503, 'UNAVAILABLE'), 'transient'],
  [{ status: 502, body: '<html>' }, 'transient'],
  [{ status: 302, body: '' }, 'misconfigured'],
  [{ status: 200, body: 'not json' }, 'ambiguous'],
  [{ status: 200, body: { name: 7 } }, 'ambiguous'],
  [{ status: 400, body: { error: { details: [null, 7] } } }, 'permanent'],
] as const

test('every error of FCM has its result', async (t) => {
  const { fake, provider, clock } = await setup(t)
  await sendOne(provider, push())
  for (const [behaviour, kind, times = 1] of answers) {
    fake.answerNext(behaviour, times)
    const result = await sendOne(provider, push())
    assert.equal(result.kind, kind, JSON.stringify(behaviour))
    if (result.kind === 'dead_token') assert.equal(result.at, clock.now())
    if (result.kind === 'rate_limited') assert.equal(result.accountWide, true)
  }
})

test('a device is alive after a message that FCM or Apple calls too large', async (t) => {
  const { fake, provider } = await setup(t)
  const apnsError = {
    '@type': 'type.googleapis.com/google.firebase.fcm.v1.ApnsError',
    statusCode: 400,
    reason: 'PayloadTooLarge',
  }
  for (const behaviour of [
    invalidArgument('Android message is too big'),
    invalidArgument('Request contains an invalid argument.', apnsError),
  ]) {
    fake.answerNext(behaviour)
    const result = await sendOne(provider, push())
    assert.equal(result.kind === 'permanent' && result.code, 'INVALID_ARGUMENT', JSON.stringify(result))
  }
  const long = push({ content: { body: '"'.repeat(3_800), locale: 'en' } })
  assert.equal((await sendOne(provider, long)).kind, 'permanent', 'the fake counts bytes as JSON')
  assert.deepEqual(fake.refusals, ['INVALID_ARGUMENT: Android message is too big'])
})

test("a rejected credential of Apple's or a browser's service is not asked about twice", async (t) => {
  const { fake, provider } = await setup(t)
  fake.answerNext(thirdPartyError)
  assert.equal((await sendOne(provider, push())).kind, 'misconfigured')
  assert.equal((await sendOne(provider, push())).kind, 'accepted', 'the answer was not used up by a second request')
  assert.equal(fake.tokensIssued(), 1, 'the access token is valid')
})

test('a limit of one device does not pause FCM for the others', async (t) => {
  const { fake, provider } = await setup(t)
  const quotaFailure = (...violations: unknown[]) => ({
    '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
    violations,
  })
  const limited = (message: string, ...more: object[]) =>
    fcmError(429, 'QUOTA_EXCEEDED', 'RESOURCE_EXHAUSTED', message, more)
  const ofProject = "Quota exceeded for quota metric 'Send requests' of service 'fcm.googleapis.com'"
  const cases = [
    [limited('Device message rate exceeded'), false],
    [limited('Quota exceeded.', quotaFailure({ subject: 'device:a', description: 'too many' })), false],
    [limited('Quota exceeded.', quotaFailure(null, { description: 'Device message rate exceeded' })), false],
    [limited(ofProject, quotaFailure({ subject: 'project:1', description: 'too many' })), true],
    [limited(ofProject, { ...quotaFailure(), violations: 'none' }), true],
    [{ status: 429, body: 'not json' }, true],
  ] as const
  for (const [behaviour, isAccountWide] of cases) {
    fake.answerNext(behaviour)
    const result = await sendOne(provider, push())
    assert.equal(
      result.kind === 'rate_limited' && result.accountWide === true,
      isAccountWide,
      JSON.stringify(behaviour),
    )
  }
})

test('devices of another project are not dead before a first push was accepted', async (t) => {
  const { fake, provider } = await setup(t)
  const mismatch = fcmError(403, 'SENDER_ID_MISMATCH', 'PERMISSION_DENIED')
  fake.answerNext(mismatch)
  const result = await sendOne(provider, push())
  assert.equal(result.kind, 'permanent')
  assert.match('reason' in result ? result.reason : '', /is service_account that of another project\?/)
  fake.answerNext(fcmError(404, 'UNREGISTERED', 'NOT_FOUND'))
  assert.equal((await sendOne(provider, push())).kind, 'dead_token')
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  fake.answerNext(mismatch)
  assert.equal((await sendOne(provider, push())).kind, 'dead_token')
})

test("FCM's Retry-After is respected after a quota and an outage", async (t) => {
  const { fake, provider } = await setup(t)
  fake.answerNext({ status: 429, retryAfter: 30 })
  fake.answerNext({ status: 503, retryAfter: 12 })
  const results = [await sendOne(provider, push()), await sendOne(provider, push())]
  assert.deepEqual(
    results.map((result) => 'retryAfterMs' in result && result.retryAfterMs),
    [30_000, 12_000],
  )
})

test('one access token serves all pushes until five minutes before it expires', async (t) => {
  const { fake, provider, clock } = await setup(t, {}, manualClock(Date.now() - 3_301_000))
  const signal = new AbortController().signal
  await provider.send(
    Array.from({ length: 10 }, () => push()),
    signal,
  )
  assert.equal(fake.tokensIssued(), 1)
  clock.advance(3_299_000)
  await sendOne(provider, push())
  assert.equal(fake.tokensIssued(), 1)
  clock.advance(2_000)
  fake.answerNextToken({ status: 503 })
  assert.equal((await sendOne(provider, push())).kind, 'transient', 'a token that is about to expire is not used')
})

test('pushes to FCM share few HTTP/2 connections, which carry many at once', async (t) => {
  const { fake, provider } = await setup(t, { connections: 2 })
  const many = Array.from({ length: 60 }, (_, index) => push({ id: `d.${index}` }))
  const results = await provider.send(many, new AbortController().signal)
  assert.deepEqual([...new Set(results.map(({ kind }) => kind))], ['accepted'])
  assert.equal(fake.requests.length, 60)
  assert.ok(fake.connections() <= 2, `${fake.connections()} connections`)
})

test('a rejected access token is replaced once, and the push succeeds', async (t) => {
  const { fake, provider } = await setup(t)
  await sendOne(provider, push())
  fake.revokeTokens()
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
  assert.equal(fake.tokensIssued(), 2)
})

test('a rejected service account is misconfigured; a token endpoint in trouble is transient', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.3 })
  fake.answerNextToken({ status: 400, body: { error: 'invalid_grant' } })
  assert.equal((await sendOne(provider, push())).kind, 'misconfigured')
  for (const behaviour of [{ status: 500 }, { status: 200, body: {} }, 'hang', 'drop'] as const) {
    fake.answerNextToken(behaviour)
    assert.equal((await sendOne(provider, push())).kind, 'transient', JSON.stringify(behaviour))
  }
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
})

test('the key of another service account is rejected by the token endpoint', async (t) => {
  const { fake } = await setup(t)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const service_account = JSON.stringify({ ...JSON.parse(fake.serviceAccount), private_key })
  const other = build({ provider: 'fcm', service_account, url: fake.url })
  t.after(() => other.close?.())
  assert.equal((await sendOne(other, push())).kind, 'misconfigured')
  assert.match(fake.refusals[0] ?? '', /Invalid JWT Signature/)
})

test('a push is sent up to the size that is measured, and not one byte more', async (t) => {
  const { provider } = await setup(t)
  const sized = (body: string) => push({ content: { body, locale: 'en' } })
  const { bytes, maxBytes } = measurePush(sized('')).fcm
  const room = 'x'.repeat(maxBytes - bytes)
  assert.equal(measurePush(sized(room)).fcm.bytes, maxBytes)
  assert.equal((await sendOne(provider, sized(room))).kind, 'accepted')
  assert.equal((await sendOne(provider, sized(`${room}x`))).kind, 'permanent')
})

test('a push larger than the maximum of FCM is not sent', async (t) => {
  const { fake, provider } = await setup(t)
  const result = await sendOne(provider, push({ content: { body: 'ä'.repeat(2_100), locale: 'en' } }))
  assert.deepEqual(result.kind === 'permanent' && result.code, 'PAYLOAD_TOO_LARGE')
  assert.equal(fake.requests.length + fake.refusals.length, 0)
})

test('an FCM that hangs or disconnects is ambiguous; an absent one is transient', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.3 })
  for (const behaviour of ['hang', 'drop'] as const) {
    fake.answerNext(behaviour)
    assert.equal((await sendOne(provider, push())).kind, 'ambiguous')
  }
  await fake.stop()
  assert.equal((await sendOne(provider, push())).kind, 'transient')
})

test('an invalid service account is named in the error, and never printed', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const account = { type: 'service_account', project_id: 'p', client_email: 'e' }
  const wrong = [
    ['./not-there.json', /service_account names the file .*not-there\.json, which can't be read/],
    ['{"type": "hush"', /service_account is not JSON/],
    ['{"type": "authorized_user"}', /service_account is not the JSON of a service account/],
    [JSON.stringify({ ...account, client_email: undefined }), /service_account has no client_email/],
    [JSON.stringify(account), /service_account has no private_key/],
    [JSON.stringify({ ...account, private_key: 'hush' }), /not an RSA key/],
    [
      JSON.stringify({ ...account, private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
      /not an RSA key/,
    ],
  ] as const
  for (const [service_account, expected] of wrong)
    assert.throws(
      () => build({ provider: 'fcm', service_account }),
      (error: Error) => error instanceof RangeError && expected.test(error.message) && !/hush/.test(error.message),
    )
})

test('a service account can be read from a file beside the configuration', async (t) => {
  const { fake } = await setup(t)
  const folder = temporaryFolder('gatehouse-fcm')
  writeFileSync(join(folder, 'firebase.json'), fake.serviceAccount)
  const provider = build({ provider: 'fcm', service_account: './firebase.json', url: fake.url }, { folder })
  t.after(() => provider.close?.())
  assert.equal((await sendOne(provider, push())).kind, 'accepted')
})
