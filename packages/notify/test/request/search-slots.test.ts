import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@gatehouse/kit'
import { SearchSlots } from '../../src/request/search-slots.ts'

test('four searches run at once, others in their turn, and too many are refused', async () => {
  const slots = new SearchSlots()
  const begun: number[] = []
  const searches = Array.from({ length: 45 }, (_, n) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const result = slots.run(() => {
      begun.push(n)
      return promise
    })
    result.catch(() => {})
    return { result, end: () => resolve(n), fail: () => reject(new Error('it failed')) }
  })
  const turn = () => new Promise(setImmediate)
  await turn()
  assert.deepEqual(begun, [0, 1, 2, 3])
  await assert.rejects(
    searches[44]?.result ?? Promise.resolve(),
    (error) => error instanceof Problem && error.status === 503,
  )
  searches[2]?.end()
  searches[1]?.fail()
  await turn()
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5], 'one that fails leaves its slot too')
  for (const { end } of searches) end()
  for (let n = 0; n < 50; n++) await turn()
  assert.equal(begun.length, 44)
  assert.equal(await slots.run(async () => 'free'), 'free')
})
