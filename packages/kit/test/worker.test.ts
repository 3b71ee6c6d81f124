import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog, startWorker } from '../src/index.ts'

const anHour = 3_600_000

test('a worker goes on while there is more, and waits when there is not', async () => {
  const answers = [true, true, false]
  const idle = Promise.withResolvers<void>()
  let passes = 0
  const worker = startWorker({
    name: 'test',
    log: silentLog,
    idleMs: anHour,
    pass: async () => {
      passes++
      const more = answers.shift() ?? false
      if (!more) idle.resolve()
      return more
    },
  })
  await idle.promise
  await worker.stop()
  assert.equal(passes, 3)
})

test('a wake during a pass is not lost', async () => {
  const inPass = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  let passes = 0
  const worker = startWorker({
    name: 'test',
    log: silentLog,
    idleMs: anHour,
    pass: async () => {
      passes++
      if (passes === 2) second.resolve()
      inPass.resolve()
      await goOn.promise
      return false
    },
  })
  await inPass.promise
  worker.resume()
  goOn.resolve()
  await second.promise
  await worker.stop()
  assert.equal(passes, 2)
})

test('a pass that throws is tried again, and stopping waits for the pass under way', async () => {
  const again = Promise.withResolvers<void>()
  let passes = 0
  let finished = false
  const worker = startWorker({
    name: 'test',
    log: silentLog,
    idleMs: anHour,
    pass: async () => {
      passes++
      if (passes === 1) throw new Error('no')
      again.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      finished = true
      return false
    },
  })
  await again.promise
  await worker.stop()
  assert.ok(finished)
})

test('a pause that is computed is computed after each pass that found nothing', async () => {
  const third = Promise.withResolvers<void>()
  const pauses: number[] = []
  let passes = 0
  const worker = startWorker({
    name: 'test',
    log: silentLog,
    idleMs: () => {
      pauses.push(passes)
      return passes < 3 ? 1 : anHour
    },
    pass: async () => {
      if (++passes === 3) third.resolve()
      return false
    },
  })
  await third.promise
  await worker.stop()
  assert.deepEqual(pauses, [1, 2, 3])
})
