import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import twilio from 'twilio'
import type { ReportRequest } from '../../src/index.ts'
import { isTwilioSigned } from '../../src/twilio/signature.ts'
import { caught, message, sendOne } from '../support/setup.ts'
import { authToken, publicUrl, setup } from '../support/twilio.ts'

function callback(form: Record<string, string>, signature: string, url: string): ReportRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature }
  return { headers, url, body: Buffer.from(new URLSearchParams(form).toString()) }
}

const documented = { CallSid: 'CA1234567890ABCDE', Digits: '1234', To: '+18005551212' }
const address = 'https://mycompany.com/myapp.php?foo=1&bar=2'

test("the signatures in Twilio's documentation and in the tests of its library are valid", () => {
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

test("signatures of Twilio's own library are valid for any form, and nothing else is", () => {
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

test("the digest of other bodies is verified as by Twilio's own library", () => {
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

test('a signed Twilio callback becomes a report on the delivery in its URL', async (t) => {
  const { fake, provider } = await setup(t)
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
  const results = await Promise.all(requests.map((request) => provider.reports?.read(request, now)))
  const about = { deliveryId: sent.deliveryId, at: now }
  assert.deepEqual(results, [
    { kind: 'reports', reports: [{ ...about, eventId: `${sid}.delivered`, report: 'delivered' }] },
    {
      kind: 'reports',
      reports: [
        {
          ...about,
          eventId: `${sid}.undelivered`,
          report: 'bounced',
          reason: 'undelivered, error 30003',
          code: '30003',
          soft: true,
        },
      ],
    },
    {
      kind: 'reports',
      reports: [
        {
          ...about,
          eventId: `${sid}.undelivered`,
          report: 'bounced',
          reason: 'undelivered, error 30005',
          code: '30005',
          soft: false,
        },
      ],
    },
  ])
})

test('a number that opted out at Twilio is unsubscribed', async (t) => {
  const { provider } = await setup(t)
  const form = { MessageSid: 'SM1', MessageStatus: 'failed', ErrorCode: '21610' }
  const url = `${publicUrl}/v1/webhooks/twilio?delivery=${message().deliveryId}`
  const request = callback(form, twilio.getExpectedTwilioSignature(authToken, url, form), url)
  const received = await provider.reports?.read(request, Date.now())
  assert.deepEqual(
    received?.kind === 'reports' && received.reports.map(({ eventId, report, soft }) => [eventId, report, soft]),
    [
      ['SM1.failed', 'bounced', true],
      ['SM1.failed.stop', 'unsubscribed', undefined],
    ],
  )
})

test('a Twilio callback that is forged, moved to another delivery or changed is rejected', async (t) => {
  const { fake, provider } = await setup(t)
  await sendOne(provider)
  const { sid } = fake.requests[0] ?? assert.fail()
  const [request = assert.fail()] = await caught(
    (to) => fake.sendWebhook?.(`${to}/v1/webhooks/twilio`, [{ message: sid, what: 'delivered' }]) ?? assert.fail(),
    publicUrl,
  )
  const forged: ReportRequest[] = [
    { ...request, headers: { ...request.headers, 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' } },
    { ...request, headers: { 'content-type': request.headers['content-type'] } },
    { ...request, url: request.url.replace(/delivery=.*/, 'delivery=another') },
    { ...request, body: Buffer.from(request.body.toString().replace('delivered', 'failed')) },
  ]
  for (const each of forged) assert.equal((await provider.reports?.read(each, Date.now()))?.kind, 'rejected')
  assert.equal((await provider.reports?.read(request, Date.now()))?.kind, 'reports')
})
