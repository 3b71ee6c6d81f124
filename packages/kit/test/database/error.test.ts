import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFaultOfInput, Problem } from '../../src/index.ts'

const coded = (code: string) => Object.assign(new Error('it failed'), { code })

const ofTheInput: ReadonlyArray<readonly [string, unknown]> = [
  ['a value out of range', coded('22003')],
  ['a broken constraint', coded('23514')],
  ['a row that is too large', coded('54000')],
  ['a fault of the program', new TypeError('undefined is not an object')],
  ['an argument that Node refuses', coded('ERR_INVALID_ARG_TYPE')],
  ['a refusal of the content', new Problem(422, 'There is no such event type.')],
]

const ofTheSurroundings: ReadonlyArray<readonly [string, unknown]> = [
  ['too many connections', coded('53300')],
  ['a full disk', coded('53100')],
  ['a full disk of the process', coded('ENOSPC')],
  ['a statement that was cancelled', coded('57014')],
  ['a deadlock', coded('40P01')],
  ['a missing table', coded('42P01')],
  ['a right that was taken away', coded('42501')],
  ['a refused connection', coded('ECONNREFUSED')],
  ['two refused connections', new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')])],
  ['a connection that ended', new Error('Connection terminated unexpectedly')],
  ['a pool without a free connection', new Error('timeout exceeded when trying to connect')],
  ['a database that says nothing', new Error('Query read timeout')],
  ['a time that ran out', new DOMException('The operation was aborted', 'TimeoutError')],
  ['too much waiting', new Problem(503, 'Too much is waiting to be stored.')],
  ['a limit', new Problem(429, 'Too many requests.')],
]

for (const [what, error] of ofTheInput)
  test(`${what} is the fault of what was handled`, () => assert.equal(isFaultOfInput(error), true))

for (const [what, error] of ofTheSurroundings)
  test(`${what} is the fault of the surroundings`, () => assert.equal(isFaultOfInput(error), false))
