import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { divideSms } from '../../src/templates/sms-parts.ts'

const a = (times: number) => 'a'.repeat(times)

for (const [what, text, encoding, units] of [
  ['160 characters of GSM-7', a(160), 'GSM-7', [160]],
  ['161 characters of GSM-7', a(161), 'GSM-7', [153, 8]],
  ['characters of the extension table, which take two', `${a(158)}€`, 'GSM-7', [160]],
  ['a euro sign that would be cut in two', `${a(152)}€${a(10)}`, 'GSM-7', [152, 12]],
  ['a form feed, which is in the extension table', '\f', 'GSM-7', [2]],
  ['line breaks and capital Greek', 'Δ\r\nΩ', 'GSM-7', [4]],
  ['70 characters of UCS-2', `ß’${a(68)}`, 'UCS-2', [70]],
  ['71 characters of UCS-2', `’${a(70)}`, 'UCS-2', [67, 4]],
  ['an emoji that would be cut in two', `’${a(65)}🚲${a(10)}`, 'UCS-2', [66, 12]],
  ['an empty text', '', 'GSM-7', [0]],
] as const)
  test(`a text has the segments of its encoding: ${what}`, () => {
    const parts = divideSms(text)
    assert.equal(parts.encoding, encoding)
    assert.deepEqual(
      parts.segments.map((segment) => segment.units),
      units,
    )
    assert.equal(
      parts.units,
      parts.segments.reduce((sum, segment) => sum + segment.units, 0),
    )
  })

test('the characters that force UCS-2 are named, each once', () => {
  assert.deepEqual(divideSms('It’s “on its way” — it’s 🚲, `a` ê').outsideGsm, ['’', '“', '”', '—', '🚲', '`', 'ê'])
  assert.deepEqual(divideSms('Ä €5 {ok} ~ é').outsideGsm, [])
})

test('segments joined are the text, none is over its size, and no character is cut', () => {
  const character = fc.constantFrom('a', 'é', '€', '[', '\n', '’', '🚲', 'ж')
  fc.assert(
    fc.property(fc.array(character, { maxLength: 500 }), (characters) => {
      const text = characters.join('')
      const { segments, unitsPerSegment } = divideSms(text)
      assert.equal(segments.map((segment) => segment.text).join(''), text)
      for (const segment of segments) {
        assert.ok(segment.units <= unitsPerSegment)
        assert.ok(segment.text.isWellFormed())
      }
    }),
  )
})
