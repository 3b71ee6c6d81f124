import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bisect } from '../src/index.ts'

const fault = new Error('it is an odd one')
const isFaultOfItem = (error: unknown) => error === fault

test('items at fault end up alone, and all the others are handled', async () => {
  const handled: number[] = []
  const failed: number[] = []
  const items = [2, 4, 5, 6, 8, 10, 11, 12]
  const work = async (part: readonly number[]) => {
    if (part.some((item) => item % 2 === 1)) throw fault
    handled.push(...part)
  }
  await bisect(items, work, { isFaultOfItem, onFailure: (_, part) => failed.push(...part) })
  assert.deepEqual(handled, [2, 4, 6, 8, 10, 12])
  assert.deepEqual(failed, [5, 11])
})

test('an error that is no fault of an item concerns all of them, and halves nothing', async () => {
  const parts: Array<readonly number[]> = []
  const outage = new Error('the database is away')
  let calls = 0
  const work = async () => {
    calls++
    throw outage
  }
  await bisect([1, 2, 3], work, { isFaultOfItem, onFailure: (_, part) => parts.push(part) })
  assert.deepEqual([calls, parts], [1, [[1, 2, 3]]])
})

test('an error that is thrown on failure stops the rest', async () => {
  const seen: number[] = []
  const work = async (part: readonly number[]) => {
    if (part.includes(1)) throw fault
    seen.push(...part)
  }
  const onFailure = (error: unknown) => {
    throw error
  }
  await assert.rejects(bisect([1, 2], work, { isFaultOfItem, onFailure }), fault)
  assert.deepEqual(seen, [])
})
