import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareLines } from '../../../src/browser/screens/content/versions/difference.ts'

const textArbitrary = fc
  .array(fc.constantFrom('', 'a', 'b', 'c', 'dd'), { maxLength: 14 })
  .map((lines) => lines.join('\n'))

test('the lines of a difference are those of both texts, in their order', () => {
  fc.assert(
    fc.property(textArbitrary, textArbitrary, (from, to) => {
      const lines = compareLines(from, to)
      const without = (kind: string) => lines.filter((line) => line.kind !== kind).map(({ text }) => text)
      assert.equal(without('added').join('\n'), from)
      assert.equal(without('removed').join('\n'), to)
    }),
  )
})

test('a text has no difference from itself, and one changed line is one removed and one added', () => {
  const kinds = (from: string, to: string) => compareLines(from, to).map(({ kind }) => kind)
  assert.deepEqual(kinds('a\nb', 'a\nb'), ['same', 'same'])
  assert.deepEqual(kinds('a\nb\nc', 'a\nx\nc'), ['same', 'removed', 'added', 'same'])
})

test('texts of thousands of lines that share none are compared at once', () => {
  const lines = (mark: string) => Array.from({ length: 5_000 }, (_, n) => `${mark}${n}`).join('\n')
  assert.equal(compareLines(lines('a'), lines('b')).length, 10_000)
})
