import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeJsonFault } from '../../src/intake/json-fault.ts'

/** What is reported of a text that is not JSON. */
function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return describeJsonFault(text, error)
  }
}

test('a fault of JSON is named by its place, without the text around it', () => {
  for (const [text, expected] of [
    ['', 'Unexpected end of JSON input'],
    ['{"a": {}', "Expected ',' or '}' after property value in JSON at position 8 (line 1 column 9)"],
    ['{"a": 1,\n "b": secret}', 'Unexpected character in JSON at position 15 (line 2 column 7)'],
    ['{\r\n"a":\r"b", "c": [1,\n x"]}', 'Unexpected character in JSON at position 23 (line 4 column 2)'],
    ['secret', 'Unexpected character in JSON at position 0 (line 1 column 1)'],
    ['{"code": trusecret}', 'Unexpected character in JSON at position 12 (line 1 column 13)'],
    ['undefined', 'Unexpected character in JSON at position 0 (line 1 column 1)'],
    ['NaN secret', 'Unexpected character in JSON at position 0 (line 1 column 1)'],
    [
      '[object Object] in JSON at position 1 (line 1 column 2)',
      'Unexpected character in JSON at position 1 (line 1 column 2)',
    ],
    [
      `{"a": "${'x'.repeat(60_000)}", ?}`,
      'Expected double-quoted property name in JSON at position 60010 (line 1 column 60011)',
    ],
    [
      `{"a": "${'x'.repeat(60_000)}" ?}`,
      "Expected ',' or '}' after property value in JSON at position 60009 (line 1 column 60010)",
    ],
    [`{"a": ["${'x'.repeat(60_000)}", ?]}`, 'Unexpected character in JSON at position 60011 (line 1 column 60012)'],
  ] as const)
    assert.equal(faultOf(text), expected, text.slice(0, 40))
})

test('the place of a character that is no JSON is found wherever it is', () => {
  const outside = fc.constantFrom('?', '§', 'x', '\u0001', '\ud83d\ude00')
  fc.assert(
    fc.property(fc.json(), fc.nat(), outside, (json, at, character) => {
      const position = at % (json.length + 1)
      const text = `${json.slice(0, position)}${character}${json.slice(position)}`
      const found = /^Unexpected character in JSON at position (\d+) /.exec(faultOf(text) ?? '')?.[1]
      fc.pre(found !== undefined)
      assert.equal(Number(found), position)
    }),
  )
})
