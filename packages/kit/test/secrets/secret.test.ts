import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { constantTimeEqual, createLog, randomToken, Secret, seal, tokenHash, unseal } from '../../src/index.ts'

test('a secret shows as [secret] in strings, JSON, debuggers and logs', () => {
  const secret = new Secret('hunter2')
  let logged = ''
  const log = createLog('info', {
    write: (line) => {
      logged += line
    },
  })
  log.info({ secret, nested: { secret }, body: { password: 'hunter2' } }, 'made')
  for (const shown of [`${secret}`, JSON.stringify({ secret }), inspect({ secret }), logged]) {
    assert.ok(shown.includes('[secret]'))
    assert.ok(!shown.includes('hunter2'))
  }
  assert.equal(secret.reveal(), 'hunter2')
})

test('what is sealed is read by the same key and purpose alone, and never after a change', () => {
  const key = new Secret('k'.repeat(32))
  fc.assert(
    fc.property(fc.string(), fc.nat(), (plain, at) => {
      const sealed = seal(plain, key, 'signing key')
      assert.equal(unseal(sealed, key, 'signing key'), plain)
      assert.throws(() => unseal(sealed, key, 'refresh token'))
      assert.throws(() => unseal(sealed, new Secret('K'.repeat(32)), 'signing key'))
      const bytes = Buffer.from(sealed, 'base64url')
      const touched = at % bytes.length
      bytes[touched] = (bytes[touched] ?? 0) ^ 1
      assert.throws(() => unseal(bytes.toString('base64url'), key, 'signing key'))
    }),
    { numRuns: 50 },
  )
})

test('tokens are 256 bits, differ, and are compared by their hashes', () => {
  const [one, other] = [randomToken(), randomToken()]
  assert.notEqual(one, other)
  assert.equal(Buffer.from(one, 'base64url').length, 32)
  assert.ok(constantTimeEqual(tokenHash(one), tokenHash(one)))
  assert.ok(!constantTimeEqual(tokenHash(one), tokenHash(other)))
})
