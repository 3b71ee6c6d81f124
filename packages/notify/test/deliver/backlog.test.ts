import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBacklog } from '../../src/deliver/claims/backlog.ts'

/** Work that ends when the test says so. */
function work() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, end: () => resolve() }
}

/** Whether a promise is settled by now. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  promise.then(() => {
    settled = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

test('a full backlog has room again as soon as one piece of work has ended', async () => {
  const backlog = createBacklog(2)
  const [first, second] = [work(), work()]
  backlog.add(first.promise)
  assert.ok(await isSettled(backlog.waitForRoom()), 'one of two: there is room')
  backlog.add(second.promise)
  const room = backlog.waitForRoom()
  assert.equal(await isSettled(room), false)
  first.end()
  assert.ok(await isSettled(room))
})

test('draining a backlog waits for all work under way', async () => {
  const backlog = createBacklog(10)
  assert.ok(await isSettled(backlog.drain()), 'no work was ever added')
  const [first, second] = [work(), work()]
  backlog.add(first.promise)
  backlog.add(second.promise)
  const empty = backlog.drain()
  first.end()
  assert.equal(await isSettled(empty), false)
  second.end()
  assert.ok(await isSettled(empty))
})
