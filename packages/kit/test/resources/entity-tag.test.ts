import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityTagOf, isMatch, Problem, requireMatch } from '@gatehouse/kit'

test('an entity tag differs when the state does, and is the same for the same state', () => {
  assert.match(entityTagOf({ name: 'a' }), /^"[\w-]{22}"$/)
  assert.equal(entityTagOf({ name: 'a' }), entityTagOf({ name: 'a' }))
  assert.equal(entityTagOf({ a: 1, b: { c: 2, d: 3 } }), entityTagOf({ b: { d: 3, c: 2 }, a: 1, e: undefined }))
  assert.notEqual(entityTagOf({ name: 'a' }), entityTagOf({ name: 'b' }))
})

test('If-Match allows a change of the state it names, of any by *, and of every one when absent', () => {
  for (const [header, current, expected] of [
    [undefined, '"a"', true],
    [undefined, undefined, true],
    ['"a"', '"a"', true],
    ['"b", "a"', '"a"', true],
    ['*', '"a"', true],
    ['"b"', '"a"', false],
    ['W/"a"', '"a"', false],
    ['*', undefined, false],
    ['', '"a"', false],
  ] as const)
    assert.equal(isMatch(header, current), expected, `${header} of ${current}`)
})

test('a change of another state is rejected with 412, which names the current entity tag', () => {
  requireMatch('"a"', '"a"')
  try {
    requireMatch('"b"', '"a"')
    assert.fail('it passed')
  } catch (error) {
    assert.ok(error instanceof Problem)
    const { title, status, etag } = error.body()
    assert.deepEqual([title, status, etag, error.headers.etag], ['Precondition Failed', 412, '"a"', '"a"'])
  }
})
