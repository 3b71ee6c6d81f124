import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onePress } from '../../src/browser/api/press.ts'

/** Calls that are answered when the test says so. */
function calls() {
  const made: PromiseWithResolvers<string>[] = []
  const make = () => {
    const call = Promise.withResolvers<string>()
    made.push(call)
    return call.promise
  }
  return { made, make }
}

test('two presses of one thing are one call, while it is under way and within a double click', async () => {
  let now = 0
  const press = onePress<object, string>(() => now)
  const { made, make } = calls()
  const first = press({ user_id: 'alice' }, make)
  now = 20_000
  const second = press({ user_id: 'alice' }, make)
  made[0]?.resolve('sent')
  assert.deepEqual(await Promise.all([first, second]), ['sent', 'sent'])
  now += 500
  assert.equal(await press({ user_id: 'alice' }, make), 'sent')
  assert.equal(made.length, 1)
})

test('what is pressed later, with another input, or after a failure is a call of its own', async () => {
  let now = 0
  const press = onePress<object, string>(() => now)
  const { made, make } = calls()
  const failed = press({ user_id: 'alice' }, make)
  made[0]?.reject(new Error('no connection'))
  await assert.rejects(failed, /no connection/)
  const again = press({ user_id: 'alice' }, make)
  const other = press({ user_id: 'bob' }, make)
  assert.equal(made.length, 3)
  made[1]?.resolve('alice')
  made[2]?.resolve('bob')
  assert.deepEqual(await Promise.all([again, other]), ['alice', 'bob'])
  now = 501
  void press({ user_id: 'bob' }, make)
  assert.equal(made.length, 4)
})
