import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTwilio } from '@gatehouse/fakes'
import fc from 'fast-check'
import twilio from 'twilio'
import type { WebhookRequest } from '../../src/index.ts'
import { isTwilioSigned } from '../../src/providers/twilio-signature.ts'
import { build, caught, message, sendOne } from './setup.ts'

const accountSid = `AC${'0'.repeat(32)}`
const authToken = 'a-token-of-the-account'
const publicUrl = 'https://gatehouse.example.com'

async function setup(declared: Record<string, unknown> = {}) {
  const fake = await startTwilio({ accountSid, authToken })
  const entry = {
    provider: 'twilio',
    account_sid: accountSid,
    auth_token: authToken,
    from: '+14155550199',
    url: fake.url,
  }
  const provider = build({ ...entry, ...declared })
  return {
    fake,
    provider,
    async close() {
      await provider.close?.()
      await fake.stop()
    },
  }
}

test('an SMS goes to Twilio with the text, the sender and an address for its reports', async (t) => {
  const { fake, provider, close } = await setup()
  t.after(close)
  const sent = message()
  const result = await sendOne(provider, sent)
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: fake.requests[0]?.sid })
  const [{ to, from, body, statusCallback } = assert.fail()] = fake.requests
  assert.deepEqual(
    { to, from, body, statusCallback },
    {
      to: '+14155550100',
      from: '+14155550199',
      body: 'Order A-1 left.',
      statusCallback: `https://gatehouse.example.com/v1/webhooks/twilio?delivery=${sent.deliveryId}`,
    },
  )
})

test('a messaging service may choose the sender', async (t) => {
  const service = `MG${'1'.repeat(32)}`
  const { fake, provider, close } = await setup({ from: undefined, messaging_service_sid: service })
  t.after(close)
  assert.equal((await sendOne(provider)).kind, 'accepted')
  assert.equal(fake.requests[0]?.messaging_service_sid, service)
})

test('Twilio needs either a number to send from or a messaging service', () => {
  const entry = { provider: 'twilio', account_sid: accountSid, auth_token: authToken }
  assert.throws(() => build(entry), /needs either from or messaging_service_sid/)
  assert.throws(() => build({ ...entry, from: '+1', messaging_service_sid: 'MG' }), /either from or/)
})

const answers = [
  [
    { status: 429, retryAfter: 7 },
    { kind: 'rate_limited', retryAfterMs: 7_000, pauses: true },
  ],
  [
    { status: 400, body: { code: 20429 } },
    { kind: 'rate_limited', pauses: true },
  ],
  [{ status: 500 }, { kind: 'transient' }],
  [
    { status: 503, retryAfter: 3 },
    { kind: 'transient', retryAfterMs: 3_000 },
  ],
  [
    { status: 400, body: { code: 21610 } },
    { kind: 'permanent', code: '21610', undeliverable: 'unsubscribed' },
  ],
  [
    { status: 400, body: { code: 21211 } },
    { kind: 'permanent', code: '21211', undeliverable: 'bounced' },
  ],
  [
    { status: 400, body: { code: 21614 } },
    { kind: 'permanent', code: '21614', undeliverable: 'bounced' },
  ],
  [
    { status: 400, body: { code: 21617 } },
    { kind: 'permanent', code: '21617' },
  ],
  [
    { status: 403, body: { code: 21408 } },
    { kind: 'permanent', code: '21408' },
  ],
  [
    { status: 400, body: { code: 30007 } },
    { kind: 'permanent', code: '30007' },
  ],
  [{ status: 400, body: { code: 30034 } }, { kind: 'misconfigured' }],
  [{ status: 400, body: { code: 21606 } }, { kind: 'misconfigured' }],
  [{ status: 401, body: { code: 20003 } }, { kind: 'misconfigured' }],
  [{ status: 403, body: 'forbidden' }, { kind: 'misconfigured' }],
  [{ status: 404, body: 'not here' }, { kind: 'misconfigured' }],
  [{ status: 302, body: '' }, { kind: 'misconfigured' }],
  [
    { status: 400, body: 'not json' },
    { kind: 'permanent', code: '400' },
  ],
  [{ status: 201, body: 'not json' }, { kind: 'ambiguous' }],
  [{ status: 201, body: { status: 'queued' } }, { kind: 'ambiguous' }],
] as const

test('every refusal of Twilio means what its code says, else its status', async (t) => {
  const { fake, provider, close } = await setup()
  t.after(close)
  for (const [behaviour, expected] of answers) {
    fake.answerNext(behaviour)
    const { reason: _, ...result } = { reason: '', ...(await sendOne(provider)) }
    assert.deepEqual(result, expected, JSON.stringify(behaviour))
  }
  assert.equal(fake.requests.length, 0)
})

test('a wrong auth token of Twilio is told apart from a wrong number', async (t) => {
  const { provider, close } = await setup({ auth_token: 'the-token-of-another' })
  t.after(close)
  const result = await sendOne(provider)
  assert.equal(result.kind, 'misconfigured')
  assert.match('reason' in result ? result.reason : '', /20003/)
})

test('an SMS whose answer was lost is found at Twilio instead of being sent again', async (t) => {
  const { fake, provider, close } = await setup()
  t.after(close)
  const sent = message()
  fake.answerNext('drop')
  assert.equal((await sendOne(provider, sent)).kind, 'ambiguous')
  assert.deepEqual(await sendOne(provider, { ...sent, retried: true }), {
    kind: 'accepted',
    providerMessageId: fake.requests[0]?.sid,
  })
  assert.equal(fake.requests.length, 1)
})

test('an SMS that Twilio never had is sent again, whatever else went to that number', async (t) => {
  const { fake, provider, close } = await setup()
  t.after(close)
  await sendOne(provider, message({ content: { body: 'Another text.', locale: 'en' } }))
  fake.answerNext({ status: 500 })
  const sent = message()
  assert.equal((await sendOne(provider, sent)).kind, 'transient')
  assert.equal((await sendOne(provider, { ...sent, retried: true })).kind, 'accepted')
  assert.equal(fake.requests.length, 2)
})

test('a Twilio that hangs is given up after its timeout, and one that is not there was never reached', async (t) => {
  const { fake, provider, close } = await setup({ timeout_seconds: 0.2 })
  t.after(close)
  fake.answerNext('hang')
  assert.equal((await sendOne(provider)).kind, 'ambiguous')
  await fake.stop()
  assert.equal((await sendOne(provider)).kind, 'transient')
})

function callback(form: Record<string, string>, signature: string, url: string): WebhookRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature }
  return { headers, url, body: Buffer.from(new URLSearchParams(form).toString()) }
}

const documented = { CallSid: 'CA1234567890ABCDE', Digits: '1234', To: '+18005551212' }
const address = 'https://mycompany.com/myapp.php?foo=1&bar=2'

test("the signatures of Twilio's documentation and of its library's own tests are found good", () => {
  const numbers = { Caller: '+14158675309', From: '+14158675309' }
  const request = callback({ ...documented, ...numbers }, 'RSOYDt4T1cUTdK1PDd93/VVr8B8=', address)
  assert.equal(isTwilioSigned('12345', request), true)
  assert.equal(isTwilioSigned('12345', { ...request, url: address.replace('.com/', '.com:443/') }), true)
  assert.equal(isTwilioSigned('12346', request), false)
  assert.equal(isTwilioSigned('12345', { ...request, url: `${address}&baz=3` }), false)
  assert.equal(
    isTwilioSigned(
      '12345',
      callback({ ...documented, ...numbers, Digits: '1235' }, 'RSOYDt4T1cUTdK1PDd93/VVr8B8=', address),
    ),
    false,
  )
  const hash = '0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620'
  const json = {
    headers: { 'content-type': 'application/json', 'x-twilio-signature': 'a9nBmqA0ju/hNViExpshrM61xv4=' },
    url: `${address}&bodySHA256=${hash}`,
    body: Buffer.from('{"property": "value", "boolean": true}'),
  }
  assert.equal(isTwilioSigned('12345', json), true)
  assert.equal(isTwilioSigned('12345', { ...json, body: Buffer.from('{"property": "other"}') }), false)
})

const addresses = fc
  .record({
    port: fc.constantFrom('', ':443', ':8443'),
    path: fc.constantFrom('', '/', '/v1/webhooks/twilio', '/a%20b/ä'),
    query: fc.constantFrom('', '?delivery=01a1fc2f-f883-7605-8c84-abdd08630000', '?a=1&b=%C3%BC'),
  })
  .map(({ port, path, query }) => `https://gatehouse.example.com${port}${path}${query}`)
const names = fc.oneof(
  fc.constantFrom('MessageSid', 'MessageStatus', 'To', '1', '10', '2'),
  fc.string({ minLength: 1 }),
)
const forms = fc.dictionary(names, fc.uniqueArray(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 3 }), {
  noNullPrototype: true,
})

test("what Twilio's own library signs is found good, and nothing else: any form, repeated fields too", () => {
  fc.assert(
    fc.property(addresses, forms, (url, form) => {
      const pairs = Object.entries(form).flatMap(([name, values]) => values.map((value) => [name, value]))
      const body = Buffer.from(new URLSearchParams(pairs).toString())
      const request = callback({}, twilio.getExpectedTwilioSignature(authToken, url, form), url)
      assert.equal(isTwilioSigned(authToken, { ...request, body }), true)
      const changed = Buffer.concat([body, Buffer.from(`${body.length === 0 ? '' : '&'}Added=1`)])
      assert.equal(isTwilioSigned(authToken, { ...request, body: changed }), false)
      assert.equal(isTwilioSigned('the-token-of-another', { ...request, body }), false)
    }),
    { numRuns: 300 },
  )
})

test("a body that is no form is vouched for as by Twilio's own library", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const url = `${publicUrl}/v1/webhooks/twilio?bodySHA256=${twilio.getExpectedBodyHash(text)}`
      const headers = {
        'content-type': 'application/json',
        'x-twilio-signature': twilio.getExpectedTwilioSignature(authToken, url, {}),
      }
      assert.equal(isTwilioSigned(authToken, { headers, url, body: Buffer.from(text) }), true)
      assert.equal(isTwilioSigned(authToken, { headers, url, body: Buffer.from(`${text} `) }), false)
    }),
    { numRuns: 50 },
  )
})

test('what Twilio reports is believed when it is signed, and tells the delivery by the address it is sent to', async (t) => {
  const { fake, provider, close } = await setup()
  t.after(close)
  const sent = message()
  await sendOne(provider, sent)
  const { sid } = fake.requests[0] ?? assert.fail()
  const requests = await caught(
    (to) =>
      fake.sendWebhook?.(`${to}/v1/webhooks/twilio`, [
        { message: sid, what: 'delivered' },
        { message: sid, what: 'bounced', soft: true },
        { message: sid, what: 'bounced' },
      ]) ?? assert.fail(),
    publicUrl,
  )
  const now = Date.now()
  const told = await Promise.all(requests.map((request) => provider.webhook?.receive(request, now)))
  const about = { deliveryId: sent.deliveryId, at: now }
  assert.deepEqual(told, [
    { kind: 'reports', reports: [{ ...about, eventId: `${sid}.delivered`, report: 'delivered' }] },
    {
      kind: 'reports',
      reports: [
        { ...about, eventId: `${sid}.undelivered`, report: 'bounced', reason: 'undelivered, error 30003', soft: true },
      ],
    },
    {
      kind: 'reports',
      reports: [
        { ...about, eventId: `${sid}.undelivered`, report: 'bounced', reason: 'undelivered, error 30005', soft: false },
      ],
    },
  ])
})

test('a number that opted out at Twilio is unsubscribed, as when Twilio says so at once', async (t) => {
  const { provider, close } = await setup()
  t.after(close)
  const form = { MessageSid: 'SM1', MessageStatus: 'failed', ErrorCode: '21610' }
  const url = `${publicUrl}/v1/webhooks/twilio?delivery=${message().deliveryId}`
  const request = callback(form, twilio.getExpectedTwilioSignature(authToken, url, form), url)
  const received = await provider.webhook?.receive(request, Date.now())
  assert.deepEqual(
    received?.kind === 'reports' && received.reports.map(({ eventId, report, soft }) => [eventId, report, soft]),
    [
      ['SM1.failed', 'bounced', true],
      ['SM1.failed.stop', 'unsubscribed', undefined],
    ],
  )
})

test('a report of Twilio’s that is forged, moved to another delivery or changed on the way is refused', async (t) => {
  const { fake, provider, close } = await setup()
  t.after(close)
  await sendOne(provider)
  const { sid } = fake.requests[0] ?? assert.fail()
  const [request = assert.fail()] = await caught(
    (to) => fake.sendWebhook?.(`${to}/v1/webhooks/twilio`, [{ message: sid, what: 'delivered' }]) ?? assert.fail(),
    publicUrl,
  )
  const forged: WebhookRequest[] = [
    { ...request, headers: { ...request.headers, 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' } },
    { ...request, headers: { 'content-type': request.headers['content-type'] } },
    { ...request, url: request.url.replace(/delivery=.*/, 'delivery=another') },
    { ...request, body: Buffer.from(request.body.toString().replace('delivered', 'failed')) },
  ]
  for (const each of forged) assert.equal((await provider.webhook?.receive(each, Date.now()))?.kind, 'refused')
  assert.equal((await provider.webhook?.receive(request, Date.now()))?.kind, 'reports')
})
