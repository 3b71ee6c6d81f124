import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedMs, shareRead } from '../../src/process/shared-read.ts'

test('a read under way and its result of a moment ago are shared by all who ask', async () => {
  const clock = { now: 0 }
  const reads: PromiseWithResolvers<number>[] = []
  const read = shareRead(
    () => {
      const next = Promise.withResolvers<number>()
      reads.push(next)
      return next.promise
    },
    { now: () => clock.now },
  )
  const results = [read(), read()]
  clock.now = 60_000
  results.push(read())
  assert.equal(reads.length, 1, 'however long it takes')
  reads[0]?.resolve(1)
  assert.deepEqual(await Promise.all(results), [1, 1, 1])
  clock.now += sharedMs - 1
  assert.equal(await read(), 1)
  clock.now += 1
  const later = read()
  reads[1]?.resolve(2)
  assert.equal(await later, 2)
  assert.equal(reads.length, 2)
})

test('a read that failed is made again', async () => {
  let reads = 0
  const read = shareRead(
    async () => {
      reads++
      if (reads === 1) throw new Error('away')
      return reads
    },
    { now: () => 0 },
  )
  await assert.rejects(read(), /away/)
  assert.equal(await read(), 2)
})

test('a result that is not kept is given to those alone who asked while it was read', async () => {
  let reads = 0
  const read = shareRead(async () => ++reads, { keepMs: 0, now: () => 0 })
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1])
  assert.equal(await read(), 2)
})
