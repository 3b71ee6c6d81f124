import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isEmailAddress } from '../../src/index.ts'

const valid = [
  'alice@example.com',
  'a.b+tag@mail.example.co.uk',
  "o'neil!#$%&*=?^_`{|}~-@example.org",
  'jürgen@exämple.de',
  '用户@例子.公司',
  `${'l'.repeat(64)}@example.com`,
]

const invalid = [
  '',
  'alice',
  'alice@',
  '@example.com',
  'alice@localhost',
  'attacker@evil.com,x.corp.com',
  'attacker@evil.com, victim@corp.com',
  'attacker@evil.com;victim@corp.com',
  'attacker@evil.com victim@corp.com',
  'attacker@evil.com\r\nBcc: victim@corp.com',
  'attacker@evil.com\u0000@corp.com',
  'Alice <alice@example.com>',
  '<alice@example.com>',
  'group: alice@example.com;',
  '"alice@evil.com"@example.com',
  'alice(comment)@example.com',
  'alice@[127.0.0.1]',
  'alice@evil.com@example.com',
  'alice@example..com',
  '.alice@example.com',
  'alice.@example.com',
  'al..ice@example.com',
  'alice@-example.com',
  'alice@example-.com',
  'alice@example.com.',
  'alice%40evil.com\\@example.com',
  'ali\u202ece@example.com',
  `${'l'.repeat(65)}@example.com`,
  `a@${'d'.repeat(64)}.com`,
  `a@${'d.'.repeat(126)}com`,
]

for (const address of valid) {
  test(`an email address is accepted: ${address.slice(0, 40)}`, () => assert.equal(isEmailAddress(address), true))
}

for (const address of invalid) {
  test(`what is not one email address is refused: ${JSON.stringify(address).slice(0, 40)}`, () =>
    assert.equal(isEmailAddress(address), false))
}

test('no accepted text contains a character that a mail header gives a meaning', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab.@,;:<>()"[]\\ \t\r\n\u0000é-') }), (text) => {
      if (isEmailAddress(text)) assert.match(text, /^[ab.é-]+@[ab.é-]+$/)
    }),
    { numRuns: 20_000 },
  )
})
