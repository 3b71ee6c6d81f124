import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeName } from '../../src/model/user.ts'
import { PasswordPolicy } from '../../src/passwords/rule.ts'

/** Two kinds of marks, which Unicode wants in the other order: to put all of them there would take an hour. */
const marks = `a${'\u0315'.repeat(500_000)}${'\u0316'.repeat(500_000)}`

test('a name as long as no name may be stays too long, and is not put in order', { timeout: 60_000 }, () => {
  assert.ok(normalizeName(marks).length > 254)
  assert.equal(normalizeName(' Ａlice '), 'alice')
})

test('a password that is too long is refused for that before all else', { timeout: 60_000 }, () => {
  const policy = new PasswordPolicy({}, 'Gatehouse')
  assert.equal(policy.findFault(marks, { username: 'alice', email: 'alice@example.com' }), 'long')
})
