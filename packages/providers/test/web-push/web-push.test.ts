import assert from 'node:assert/strict'
import { createECDH } from 'node:crypto'
import { test } from 'node:test'
import { startWebPush } from '@gatehouse/fakes'
import fc from 'fast-check'
import { decrypt } from 'http_ece'
import webPush from 'web-push'
import { isPublicAddress, lookupPublic } from '../../src/transport/public-address.ts'
import { encryptPush, maxPlaintextBytes } from '../../src/web-push/encryption.ts'
import { build, message, present, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const subject = 'mailto:ops@example.com'

const setup = (t: TestEnd, declared: Record<string, unknown> = {}, clock = present()) =>
  rehearse(
    t,
    startWebPush(),
    ({ publicKey, privateKey }) => {
      const keys = { public_key: publicKey, private_key: privateKey, subject }
      return { provider: 'web-push', ...keys, hosts: ['127.0.0.1'], allow_private: true, ...declared }
    },
    { clock },
  )

const push = (address: string, given: object = {}) =>
  message({ channel: 'push', target: { id: 'browser', address, service: 'web' }, ...given })

test('a push reaches the browser encrypted for it, under a topic that a second one takes the place of', async (t) => {
  const { fake, provider } = await setup(t, { ttl_seconds: 60 })
  const sent = push(fake.subscribe(), { id: 'd.browser' })
  const result = await sendOne(provider, sent)
  assert.match(result.kind === 'accepted' ? (result.providerMessageId ?? '') : '', /\/message\//)
  await sendOne(provider, { ...sent, critical: true })
  const [first = assert.fail(), second = assert.fail()] = fake.requests
  const { delivery_id, notification_id } = { delivery_id: sent.deliveryId, notification_id: sent.notificationId }
  assert.deepEqual(JSON.parse(first.text), {
    title: 'Order A-1',
    body: 'Order A-1 left.',
    tag: first.topic,
    data: { delivery_id, notification_id, event: 'order.shipped' },
  })
  assert.equal(first.ttl, 60)
  assert.deepEqual([first.urgency, second.urgency], ['normal', 'high'])
  assert.equal(first.topic, second.topic)
})

test('what we encrypt is decrypted by http_ece, whatever its length up to the most that push services take', () => {
  const browser = createECDH('prime256v1')
  const publicKey = browser.generateKeys()
  const auth = Buffer.alloc(16, 5)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: maxPlaintextBytes }), (bytes) => {
      const plain = Buffer.from(bytes)
      const sealed = encryptPush(plain, { publicKey, auth })
      const opened = decrypt(sealed, {
        version: 'aes128gcm',
        privateKey: browser,
        authSecret: auth.toString('base64url'),
      })
      assert.ok(opened.equals(plain))
    }),
    { numRuns: 50 },
  )
  assert.equal(encryptPush(Buffer.alloc(maxPlaintextBytes), { publicKey, auth }).length, 4_096)
})

test('what the web-push library sends is taken by the same push service, so that it checks what others check', async (t) => {
  const { fake } = await setup(t)
  const vapidDetails = { subject, publicKey: fake.publicKey, privateKey: fake.privateKey }
  const subscription = JSON.parse(fake.subscribe()) as { endpoint: string }
  const details = webPush.generateRequestDetails(subscription, 'hello', { vapidDetails, TTL: 60 })
  const { 'Content-Length': _, ...headers } = details.headers as Record<string, string>
  const answer = await fetch(subscription.endpoint, { method: 'POST', headers, body: new Uint8Array(details.body) })
  assert.equal(answer.status, 201, await answer.text())
  assert.equal(fake.requests[0]?.text, 'hello')
})

test('keys that the web-push library makes can be used', async (t) => {
  const { publicKey: public_key, privateKey: private_key } = webPush.generateVAPIDKeys()
  const { fake, provider } = await setup(t, { public_key, private_key })
  assert.equal((await sendOne(provider, push(fake.subscribe()))).kind, 'misconfigured')
  assert.deepEqual(fake.refusals, ['the VAPID key is not that of the subscription'])
})

const answers = [
  [201, 'accepted'],
  [202, 'accepted'],
  [404, 'dead_token'],
  [410, 'dead_token'],
  [413, 'permanent'],
  [408, 'transient'],
  [500, 'transient'],
  [503, 'transient'],
  [301, 'permanent'],
  [418, 'permanent'],
] as const

test('every answer of a push service means what its status says', async (t) => {
  const { fake, provider, clock } = await setup(t)
  const subscription = fake.subscribe()
  for (const status of [400, 401, 403]) {
    fake.answerNext({ status })
    assert.equal((await sendOne(provider, push(subscription))).kind, 'misconfigured', `${status} before any was taken`)
  }
  for (const [status, kind] of answers) {
    fake.answerNext({ status })
    const result = await sendOne(provider, push(subscription))
    assert.equal(result.kind, kind, String(status))
    if (result.kind === 'dead_token') assert.equal(result.at, clock.now())
  }
  fake.answerNext({ status: 429, retryAfter: 11 })
  const limited = await sendOne(provider, push(subscription))
  assert.deepEqual(limited.kind === 'rate_limited' && limited.retryAfterMs, 11_000)
})

test('once a push service took pushes under our key, a refusal is of the one subscription', async (t) => {
  const { fake, provider } = await setup(t)
  const subscription = fake.subscribe()
  await sendOne(provider, push(subscription))
  fake.answerNext({ status: 403 })
  assert.equal((await sendOne(provider, push(subscription))).kind, 'permanent')
})

test('a subscription that its user withdrew is dead', async (t) => {
  const { fake, provider } = await setup(t)
  const subscription = fake.subscribe()
  fake.unsubscribe(subscription)
  assert.equal((await sendOne(provider, push(subscription))).kind, 'dead_token')
})

test('a token that says who we are is used for half a day, and never longer than a day', async (t) => {
  const { fake, provider, clock } = await setup(t, {}, present())
  const subscription = fake.subscribe()
  clock.advance(-11.5 * 3_600_000)
  assert.equal((await sendOne(provider, push(subscription))).kind, 'accepted')
  clock.advance(11.5 * 3_600_000)
  assert.equal((await sendOne(provider, push(subscription))).kind, 'accepted')
})

test('a push service that hangs or cuts the connection is ambiguous; one that is not there was never reached', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.2 })
  const subscription = fake.subscribe()
  for (const behaviour of ['hang', 'drop'] as const) {
    fake.answerNext(behaviour)
    assert.equal((await sendOne(provider, push(subscription))).kind, 'ambiguous')
  }
  await fake.stop()
  assert.equal((await sendOne(provider, push(subscription))).kind, 'transient')
})

test('a push that is larger than push services take is not sent', async (t) => {
  const { fake, provider } = await setup(t)
  const result = await sendOne(provider, push(fake.subscribe(), { content: { body: 'ä'.repeat(2_000), locale: 'en' } }))
  assert.equal(result.kind === 'permanent' && result.code, 'too_large')
})

const keys = JSON.parse('{"p256dh":"","auth":""}') as Record<string, string>
const browser = createECDH('prime256v1')
keys.p256dh = browser.generateKeys('base64url')
keys.auth = Buffer.alloc(16, 1).toString('base64url')
const at = (endpoint: string) => JSON.stringify({ endpoint, keys })

test('a subscription is checked when its device is registered: its form, its keys, and whose push service it names', async (t) => {
  const { provider } = await setup(t, { hosts: ['push.example.com'], allow_private: false })
  const good = [
    'https://fcm.googleapis.com/fcm/send/a:b',
    'https://updates.push.services.mozilla.com/wpush/v2/a',
    'https://wns2-by3p.notify.windows.com/w/?token=a',
    'https://web.push.apple.com/a',
    'https://push.example.com/a',
  ]
  for (const endpoint of good) assert.equal(provider.checkToken?.(at(endpoint)), undefined, endpoint)
  const bad = [
    ['not json', /as JSON/],
    ['null', /as JSON/],
    ['{}', /endpoint/],
    [at('https://evil.example.com/'), /evil\.example\.com is not/],
    [at('https://fcm.googleapis.com.evil.example.com/'), /is not/],
    [at('https://notify.windows.com.evil.example/'), /is not/],
    [at('http://fcm.googleapis.com/a'), /https/],
    [at('https://user:pw@fcm.googleapis.com/a'), /https address/],
    [at('https://127.0.0.1/a'), /is not/],
    [at('https://[::1]/a'), /is not/],
    [at('file:///etc/passwd'), /https address/],
    [JSON.stringify({ endpoint: good[0], keys: { ...keys, auth: 'AAAA' } }), /keys\.auth is 16 bytes/],
    [JSON.stringify({ endpoint: good[0], keys: { ...keys, p256dh: 'AAAA' } }), /keys\.p256dh is a point/],
    [
      JSON.stringify({ endpoint: good[0], keys: { ...keys, p256dh: Buffer.alloc(65, 4).toString('base64url') } }),
      /keys\.p256dh is a point/,
    ],
  ] as const
  for (const [token, expected] of bad) assert.match(provider.checkToken?.(token) ?? '', expected, token)
})

test('an endpoint on our own machine or network is never called, whatever its name resolves to', async (t) => {
  const { fake } = await setup(t)
  const { publicKey: public_key, privateKey: private_key } = fake
  const entry = { provider: 'web-push', public_key, private_key, subject }
  const strict = build({ ...entry, hosts: ['127.0.0.1', 'localhost'] })
  t.after(() => strict.close?.())
  const { port } = new URL(fake.url)
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    const result = await sendOne(strict, push(at(`https://${host}/push/a`)))
    assert.notEqual(result.kind, 'accepted')
    assert.match('reason' in result ? result.reason : '', /public/)
  }
  assert.equal(fake.requests.length + fake.refusals.length, 0)
})

test('private, local and reserved addresses are told from public ones', async () => {
  const cases = [
    ['8.8.8.8', true],
    ['2606:4700:4700::1111', true],
    ['10.1.2.3', false],
    ['172.31.255.255', false],
    ['172.32.0.1', true],
    ['192.168.1.1', false],
    ['169.254.169.254', false],
    ['100.64.0.1', false],
    ['127.0.0.2', false],
    ['0.0.0.0', false],
    ['255.255.255.255', false],
    ['::1', false],
    ['fe80::1', false],
    ['fd00::1', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::a00:1', false],
    ['2002:a00:1::', false],
    ['localhost', false],
  ] as const
  for (const [address, expected] of cases) assert.equal(isPublicAddress(address), expected, address)
  const error = await new Promise<{ readonly code?: string } | null>((resolve) =>
    lookupPublic('localhost', { all: false }, (failure) => resolve(failure as { code?: string } | null)),
  )
  assert.equal(error?.code, 'ENOTPUBLIC')
})

test('VAPID keys that do not fit one another are named at start', () => {
  const [one, two] = [webPush.generateVAPIDKeys(), webPush.generateVAPIDKeys()]
  const entry = { provider: 'web-push', subject }
  const { publicKey: public_key, privateKey: private_key } = one
  assert.throws(
    () => build({ ...entry, public_key, private_key: two.privateKey }),
    /^RangeError: public_key does not belong/,
  )
  assert.throws(() => build({ ...entry, public_key, private_key: 'hush' }), /^RangeError: private_key must be 32 bytes/)
  assert.throws(
    () => build({ ...entry, public_key, private_key: Buffer.alloc(32).toString('base64url') }),
    /^RangeError: private_key is not a P-256 key/,
  )
  assert.doesNotThrow(() => build({ ...entry, public_key, private_key }))
})
