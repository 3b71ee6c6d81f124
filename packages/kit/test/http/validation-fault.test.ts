import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { validationFault } from '../../src/http/validation-fault.ts'

const schema = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    user_id: { type: 'string', minLength: 2, maxLength: 4 },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    share: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    channels: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2, uniqueItems: true },
    note: { type: ['object', 'null'], maxProperties: 1 },
    on: { type: 'boolean' },
  },
}

function faultsOf(value: unknown): string[] {
  const valid = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true }).compile(schema)
  valid(value)
  return (valid.errors ?? []).map((error) => {
    const { pointer, detail } = validationFault(error)
    return `${pointer} ${detail}`
  })
}

test('a value of the wrong type is reported with the type in words', () => {
  assert.deepEqual(faultsOf([]), ['/ must be an object'])
  assert.deepEqual(faultsOf({ user_id: 1, count: 1.5, share: 'x', channels: 'email', note: 1, on: 'yes' }), [
    '/user_id must be a string',
    '/count must be an integer',
    '/share must be a number',
    '/channels must be an array',
    '/note must be an object or null',
    '/on must be true or false',
  ])
})

test('a value outside its bounds is reported with the bound', () => {
  assert.deepEqual(faultsOf({}), ['/ must have at least 1 member'])
  assert.deepEqual(faultsOf({ user_id: 'a', count: 0, share: 0, channels: [] }), [
    '/user_id must have at least 2 characters',
    '/count must be at least 1',
    '/share must be more than 0',
    '/channels must have at least 1 item',
  ])
  assert.deepEqual(
    faultsOf({ user_id: 'abcde', count: 10, share: 1, channels: ['a', 'b', 'a'], note: { a: 1, b: 2 } }),
    [
      '/user_id must have at most 4 characters',
      '/count must be at most 9',
      '/share must be less than 1',
      '/channels must have at most 2 items',
      '/channels must not repeat an item: 0 and 2 are the same',
      '/note must have at most 1 member',
    ],
  )
})

test('an unknown member is reported with the known one of a similar name', () => {
  assert.deepEqual(faultsOf({ userId: 'ann', colour: 'red' }), [
    '/userId is not a known member; did you mean user_id?',
    '/colour is not a known member',
  ])
})
