import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { parseWebhookKey, signWebhook, verifyWebhook } from '../../src/http/standard-webhooks.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const [key, otherKey] = [parseWebhookKey(secret), parseWebhookKey(other)] as const
const now = 1_790_000_000_000

test('signatures are compatible with the Standard Webhooks library in both directions', () => {
  fc.assert(
    fc.property(fc.json(), fc.stringMatching(/^[\w-]{1,40}$/), (body, id) => {
      const at = Date.now()
      const library = new Webhook(secret)
      library.verify(body, signWebhook([key], id, at, body))
      const theirs = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at / 1_000)),
        'webhook-signature': library.sign(id, new Date(at), body),
      }
      assert.equal(verifyWebhook([key], theirs, Buffer.from(body), at).kind, 'genuine')
    }),
    { numRuns: 50 },
  )
})

test('during a rotation a signature by the old key or the new one is enough', () => {
  const body = Buffer.from('{}')
  const byBoth = signWebhook([otherKey, key], 'a', now, body)
  assert.equal(byBoth['webhook-signature'].split(' ').length, 2)
  for (const keys of [[key], [otherKey], [otherKey, key]])
    assert.deepEqual(verifyWebhook(keys, byBoth, body, now), { kind: 'genuine', id: 'a', at: now })
  assert.equal(verifyWebhook([key], signWebhook([otherKey], 'a', now, body), body, now).kind, 'rejected')
})

test('a webhook that was changed, is outdated or lacks a field is rejected with the reason', () => {
  const body = Buffer.from('{"a":1}')
  const good = signWebhook([key], 'msg_1', now, body)
  const table = [
    [good, Buffer.from('{"a":2}'), now, /signature/],
    [{ ...good, 'webhook-id': 'msg_2' }, body, now, /signature/],
    [{ ...good, 'webhook-signature': good['webhook-signature'].replace('v1,', 'v2,') }, body, now, /signature/],
    [{ ...good, 'webhook-signature': 'v1,' }, body, now, /signature/],
    [good, body, now + 301_000, /five minutes/],
    [good, body, now - 301_000, /five minutes/],
    [{ ...good, 'webhook-timestamp': 'soon' }, body, now, /timestamp/],
    [{ ...good, 'webhook-id': undefined }, body, now, /needed/],
  ] as const
  for (const [headers, bytes, at, reason] of table) {
    const checked = verifyWebhook([key], headers, bytes, at)
    assert.equal(checked.kind, 'rejected')
    assert.match(checked.kind === 'rejected' ? checked.reason : '', reason)
  }
  assert.equal(verifyWebhook([key], good, body, now + 300_000).kind, 'genuine')
})

test('a webhook secret that is not base64 or has a wrong length is invalid', () => {
  for (const wrong of ['whsec_', 'whsec_ä', 'whsec_c2hvcnQ=', `whsec_${Buffer.alloc(65).toString('base64')}`])
    assert.throws(() => parseWebhookKey(wrong), /whsec_ and base64 of 24 to 64 bytes/)
})
