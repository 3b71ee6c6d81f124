import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimeoutError, withinTime } from '../src/index.ts'

/** The timers that keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

test('work that ends in time resolves or rejects as it does, and leaves no timer', async () => {
  const before = timers()
  const fault = new Error('the work failed')
  assert.equal(await withinTime(60_000, 'the work', Promise.resolve('done')), 'done')
  await assert.rejects(withinTime(60_000, 'the work', Promise.reject(fault)), fault)
  assert.equal(timers(), before)
})

test('work that takes longer is given up at its limit with an error that names both', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { promise, resolve } = Promise.withResolvers<string>()
  const outcome = withinTime(2_000, 'the answer of the server', promise)
  context.mock.timers.tick(1_999)
  const early = withinTime(2_000, 'the answer of the server', promise)
  const rejected = assert.rejects(outcome, (error: unknown) => {
    assert.ok(error instanceof TimeoutError)
    assert.equal(error.message, 'the answer of the server took longer than 2000 ms')
    return true
  })
  context.mock.timers.tick(1)
  await rejected
  resolve('late')
  assert.equal(await early, 'late', 'each caller has a limit of its own')
})

test('a rejection after the limit is ignored', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const unhandled: unknown[] = []
  const listen = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', listen)
  context.after(() => process.off('unhandledRejection', listen))
  const { promise, reject } = Promise.withResolvers<never>()
  const rejected = assert.rejects(withinTime(1, 'the work', promise), TimeoutError)
  context.mock.timers.tick(1)
  await rejected
  reject(new Error('too late'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(unhandled, [])
})
