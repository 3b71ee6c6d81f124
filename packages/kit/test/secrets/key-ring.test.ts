import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { KeyRing, readKeyRing, Secret, seal, sealingKeyId, UnknownKeyError, unseal } from '@gatehouse/kit'

const old = new Secret('0123456789abcdef0123456789abcdef')
const next = new Secret('fedcba9876543210fedcba9876543210')

test('the first key of a ring seals, all of them open', () => {
  const before = seal('text', new KeyRing([old]), 'purpose')
  const both = new KeyRing([next, old])
  const after = seal('text', both, 'purpose')
  assert.deepEqual([unseal(before, both, 'purpose'), unseal(after, both, 'purpose')], ['text', 'text'])
  assert.equal(unseal(after, new KeyRing([old, next]), 'purpose'), 'text', 'in whatever order')
  assert.equal(sealingKeyId(after), both.currentId)
})

test('what is sealed with a key that is not in the ring is refused, naming the id of the key', () => {
  const sealed = seal('text', new KeyRing([old]), 'purpose')
  assert.throws(
    () => unseal(sealed, new KeyRing([next]), 'purpose'),
    (error) => error instanceof UnknownKeyError && error.keyId === new KeyRing([old]).currentId,
  )
  for (const text of ['', 'a', '........', `${'a'.repeat(8)}`]) {
    assert.throws(() => unseal(text, new KeyRing([old]), 'purpose'), UnknownKeyError, text)
  }
})

test('a sealed value opens only unchanged, for its own purpose and under its own key id', () => {
  const ring = new KeyRing([old, next])
  const [id, body = ''] = seal('text', ring, 'row 1').split('.')
  assert.throws(() => unseal(`${id}.${body}`, ring, 'row 2'))
  assert.throws(() => unseal(`${id}.${body.slice(0, -1)}`, ring, 'row 1'))
  assert.throws(() => unseal(`${id}.`, ring, 'row 1'))
  assert.throws(() => unseal(`${ring.ids[1]}.${body}`, ring, 'row 1'))
})

test('a ring shows the ids of its keys and never a key', () => {
  const ring = new KeyRing([old, next])
  assert.equal(ring.ids.length, 2)
  const shown = `${inspect(ring, { depth: 9, showHidden: true })} ${JSON.stringify(ring)} ${ring.ids.join()}`
  for (const key of [old, next]) assert.ok(!shown.includes(key.reveal()))
})

test('a list of keys is read in order, with spaces round its commas', () => {
  const { ring, faults } = readKeyRing(` ${next.reveal()} , ${old.reveal()}`)
  assert.deepEqual([faults, ring?.ids], [[], new KeyRing([next, old]).ids])
})

test('an invalid key is reported by its position and reason, and never shown', () => {
  const weak = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
  for (const [text, expected] of [
    [weak, /^must be keys of at least 32 characters/],
    [`${old.reveal()},short-secret`, /^key 2 of 2: must be keys of at least 32/],
    [`${old.reveal()},`, /^key 2 of 2: must be/],
    [`${old.reveal()},${next.reveal()},${old.reveal()}`, /^key 3 of 3: is the same as key 1$/],
    [Array.from({ length: 9 }, (_, n) => `${n}${old.reveal()}`).join(), /^must be at most 8 keys, not 9$/],
  ] as const) {
    const { ring, faults } = readKeyRing(text)
    assert.equal(ring, undefined)
    assert.match(faults.join('\n'), expected)
    for (const secret of ['aaaa', 'short-secret', old.reveal()]) assert.ok(!faults.join().includes(secret))
  }
})
