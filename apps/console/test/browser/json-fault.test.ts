import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findJsonFault, findListFault } from '../../src/browser/forms/json-fault.ts'

const faults = [
  ['{"order_id": A-1}', 1, 14, 'value'],
  ['{\n  bad', 2, 3, 'name'],
  ['{\n  "a": 1,\n}', 3, 1, 'name'],
  ['{"a" 1}', 1, 6, 'colon'],
  ['{"a": 1 "b": 2}', 1, 9, 'comma'],
  ['{"a": [1, 2}', 1, 12, 'comma'],
  ['{"a": 1', 1, 8, 'comma'],
  ['{"a": "line\nbreak"}', 1, 7, 'value'],
  ['{"a": 01}', 1, 7, 'value'],
  ['{"a": TRUE}', 1, 7, 'value'],
  ["{'a': 1}", 1, 2, 'name'],
  ['{} {}', 1, 4, 'end'],
  ['{"a": [1, ]}', 1, 11, 'value'],
  ['', 1, 1, 'object'],
  ['[]', 1, 1, 'object'],
  ['\n 3', 2, 2, 'object'],
] as const

for (const [text, line, column, expected] of faults)
  test(`the place and the expectation are those of ${JSON.stringify(text)}`, () => {
    assert.deepEqual(findJsonFault(text), { line, column, expected })
  })

test('in a list every value has to be an object', () => {
  assert.equal(findListFault(' [{"a": [1]}, {}]'), undefined)
  assert.deepEqual(findListFault('[{"event": "a"},\n b]'), { line: 2, column: 2, expected: 'object' })
  assert.deepEqual(findListFault('[{}, 3]'), { line: 1, column: 6, expected: 'object' })
  assert.deepEqual(findListFault('[{}, ]'), { line: 1, column: 6, expected: 'object' })
  assert.deepEqual(findListFault('[{"a": 1}'), { line: 1, column: 10, expected: 'comma' })
})

/** Whether a text is a JSON object by the parser of the machine. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

test('whatever is written has a fault exactly where it is no JSON object to the parser', () => {
  const written = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', '"', ' 1', '\\', '\n', 'e5', '-'))
  fc.assert(
    fc.property(written, fc.boolean(), ([json, at, typed], isWrapped) => {
      const whole = isWrapped ? `{"a": ${json}}` : json
      const place = at % (whole.length + 1)
      const text = whole.slice(0, place) + typed + whole.slice(place)
      assert.equal(findJsonFault(text) === undefined, isObject(text), text)
    }),
    { numRuns: 2_000 },
  )
})
