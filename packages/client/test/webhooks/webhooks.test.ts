import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SignatureError, signWebhook, verifyWebhook } from '../../src/index.ts'

/** The vector of the reference implementations of Standard Webhooks. */
const vector = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  nowMs: 1_614_265_330_000,
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const headers = {
  'webhook-id': vector.id,
  'webhook-timestamp': '1614265330',
  'webhook-signature': vector.signature,
}
const options = { secrets: [vector.secret], nowMs: vector.nowMs }
const other = `whsec_${btoa('another secret of 24 bytes')}`

describe('a webhook', () => {
  test('is signed and verified as the vector of Standard Webhooks says', async () => {
    assert.deepEqual(await signWebhook(vector.body, { ...options, id: vector.id }), headers)
    const verified = await verifyWebhook<unknown>(vector.body, headers, options)
    assert.deepEqual(verified, { id: vector.id, at: vector.nowMs, message: { test: 2_432_232_314 } })
  })

  test('may come as bytes, with header fields of fetch or of Node in any case', async () => {
    const bytes = new TextEncoder().encode(vector.body)
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    for (const fields of [new Headers(headers), upper])
      for (const body of [bytes, bytes.buffer, Buffer.from(bytes)])
        assert.equal((await verifyWebhook(body, fields, options)).id, vector.id)
  })

  test('is genuine by one of several secrets and signatures, without the prefix too', async () => {
    const bare = vector.secret.replace('whsec_', '')
    await verifyWebhook(vector.body, headers, { ...options, secrets: [other, bare] })
    const both = await signWebhook(vector.body, { secrets: [other, vector.secret], id: vector.id, nowMs: vector.nowMs })
    await verifyWebhook(vector.body, both, options)
    const newer = { ...headers, 'webhook-signature': `v1a,AAAA v1,AAAA ${vector.signature}` }
    await verifyWebhook(vector.body, newer, options)
  })

  test('is refused when anything of it was changed, is missing, or is too old or too new', async () => {
    const refused = (fields: object, body = vector.body, more = {}) =>
      assert.rejects(verifyWebhook(body, { ...headers, ...fields }, { ...options, ...more }), SignatureError)
    await refused({}, vector.body.replace('4', '5'))
    await refused({}, `${vector.body} `)
    await refused({ 'webhook-id': 'msg_other' })
    await refused({ 'webhook-timestamp': '1614265331' })
    await refused({}, vector.body, { secrets: [other] })
    await refused({}, vector.body, { secrets: [] })
    for (const name of Object.keys(headers)) await refused({ [name]: undefined })
    await refused({ 'webhook-timestamp': '1614265330.0' })
    await refused({ 'webhook-signature': vector.signature.replace('v1,', 'v2,') })
    await refused({ 'webhook-signature': 'v1,not base64 !' })
    for (const seconds of [-301, 301]) await refused({}, vector.body, { nowMs: vector.nowMs + seconds * 1_000 })
    await verifyWebhook(vector.body, headers, { ...options, nowMs: vector.nowMs + 301_000, toleranceSeconds: 400 })
  })

  test('whose body was parsed already is refused, as is a malformed secret', async () => {
    await assert.rejects(verifyWebhook(JSON.parse(vector.body), headers, options), TypeError)
    for (const secret of ['', 'whsec_short', 'whsec_ä', `whsec_${btoa('x'.repeat(65))}`])
      await assert.rejects(verifyWebhook(vector.body, headers, { ...options, secrets: [secret] }), TypeError)
    await assert.rejects(signWebhook(vector.body, { ...options, id: 'a.b' }), TypeError)
  })

  test('that was signed is verified, whatever its body', async () => {
    const secrets = [vector.secret]
    await fc.assert(
      fc.asyncProperty(fc.json(), async (body) => {
        const verified = await verifyWebhook<unknown>(body, await signWebhook(body, { secrets }), { secrets })
        assert.deepEqual(verified.message, JSON.parse(body))
      }),
      { numRuns: 30 },
    )
  })
})
