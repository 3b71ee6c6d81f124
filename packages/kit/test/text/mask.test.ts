import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maskEmail, maskIpAddress, maskMembers, maskName, maskPhoneNumber } from '../../src/index.ts'

const cases: readonly [masked: string, expected: string][] = [
  [maskEmail('alice@example.com'), 'a•••@example.com'],
  [maskEmail('not an address'), '•••'],
  [maskPhoneNumber('+447700900123'), '+44•••123'],
  [maskPhoneNumber('12345'), '•••'],
  [maskName('Alice Mary Adams'), 'A. M. A.'],
  [maskName(''), ''],
  [maskIpAddress('203.0.113.77'), '203.0.113.0/24'],
  [maskIpAddress('::ffff:203.0.113.77'), '203.0.113.0/24'],
  [maskIpAddress('2001:db8:1:2:3:4:5:6'), '2001:db8:1::/48'],
  [maskIpAddress('2001:db8::1'), '2001:db8:0::/48'],
  [maskIpAddress('fe80::1%eth0'), 'fe80:0:0::/48'],
  [maskIpAddress('::1'), '0:0:0::/48'],
  [maskIpAddress('unknown'), '•••'],
]

for (const [masked, expected] of cases) {
  test(`a personal value is masked as ${JSON.stringify(expected)}`, () => assert.equal(masked, expected))
}

test('masked members keep names and types, and no value', () => {
  const members = { order: 'A-1', count: 2, gift: true, note: null, tags: ['x'], to: { name: 'Alice' } }
  assert.deepEqual(maskMembers(members), {
    order: 'string',
    count: 'number',
    gift: 'boolean',
    note: 'null',
    tags: 'array',
    to: { name: 'string' },
  })
})

test('a masked email address does not contain its local part', () => {
  const letters = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnop'), minLength: 2, maxLength: 30 })
  fc.assert(
    fc.property(letters, (local) => assert.ok(!maskEmail(`${local}@qrs.tu`).slice(0, -7).includes(local.slice(0, 2)))),
  )
})
