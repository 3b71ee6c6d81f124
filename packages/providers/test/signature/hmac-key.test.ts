import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { HmacKey } from '../../src/signature/hmac-key.ts'

const codeOf = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('base64')
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  // Around the longest text that is hashed beside the key.
  fc.integer({ min: 2_700, max: 2_760 }).map((length) => '\u20ac'.repeat(length)),
  fc.integer({ min: 8_100, max: 8_300 }).map((length) => 'a'.repeat(length)),
)

test('a key signs texts of any length as HMAC-SHA-256, one after the other', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 130 }), fc.array(text, { minLength: 1, maxLength: 4 }), (bytes, texts) => {
      const key = new HmacKey(Buffer.from(bytes))
      for (const each of texts) assert.equal(key.sign(each), codeOf(bytes, each))
    }),
  )
})

test('the digest of parts is that of the whole, as a signature has it', () => {
  const key = new HmacKey(Buffer.alloc(32, 7))
  assert.equal(key.digest('msg_1.', Buffer.from('{}')).toString('base64'), key.sign('msg_1.{}'))
})

test('a text with unpaired surrogates is signed as the bytes in which it is sent', () => {
  const bytes = Buffer.alloc(24, 1)
  for (const each of ['\ud800', 'a\udc00b', '\ud83d\ude00'])
    assert.equal(new HmacKey(bytes).sign(each), codeOf(bytes, Buffer.from(each).toString()))
})
