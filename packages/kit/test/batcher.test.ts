import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchOptions, createBatcher, Problem } from '../src/index.ts'

const options = { maxBatch: 100, concurrency: 1, maxWaiting: 100 }
const dataFault = Object.assign(new Error('value out of range'), { code: '22003' })

test('what is asked for at the same time is done together, and each gets its own answer', async () => {
  const batches: number[][] = []
  const gatherer = createBatcher<number, number>(async (items) => {
    batches.push([...items])
    return items.map((item) => item * 2)
  }, options)
  assert.deepEqual(await Promise.all([1, 2, 3].map((item) => gatherer.add(item))), [2, 4, 6])
  assert.deepEqual(batches, [[1, 2, 3]])
})

test('a batch that fails by the fault of what is in it hurts the culprit alone', async () => {
  const gatherer = createBatcher<number, number>(async (items) => {
    if (items.includes(5)) throw dataFault
    return [...items]
  }, options)
  const answers = await Promise.allSettled([...Array(9).keys()].map((item) => gatherer.add(item)))
  assert.deepEqual(
    answers.flatMap((answer, item) => (answer.status === 'rejected' ? [[item, answer.reason]] : [])),
    [[5, dataFault]],
  )
})

test('an error of the program that one item causes hurts that item alone', async () => {
  const gatherer = createBatcher<{ readonly name?: string }, number>(
    async (items) => items.map(({ name }) => (name as string).length),
    options,
  )
  const answers = await Promise.allSettled([{ name: 'one' }, {}, { name: 'three' }].map((item) => gatherer.add(item)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('a failure that no item caused rejects the whole batch after one attempt', async () => {
  let attempts = 0
  const gatherer = createBatcher<number, number>(async () => {
    attempts++
    throw new Error('Connection terminated')
  }, options)
  const answers = await Promise.allSettled([1, 2, 3].map((item) => gatherer.add(item)))
  assert.deepEqual([answers.map(({ status }) => status), attempts], [['rejected', 'rejected', 'rejected'], 1])
})

test('an item beyond the waiting limit is rejected with 503', async () => {
  const gatherer = createBatcher<number, number>(async (items) => [...items], { ...options, maxWaiting: 2 })
  const kept = [gatherer.add(1), gatherer.add(2)]
  await assert.rejects(gatherer.add(3), (error: unknown) => error instanceof Problem && error.status === 503)
  assert.deepEqual(await Promise.all(kept), [1, 2])
})

test('a batch that waits for further items runs as soon as there are enough', async () => {
  const { batches, add } = recorded({ ...options, gatherMs: 2 ** 31 - 1, gatherUntil: 20 })
  await add(10)
  const first = add(15)
  await Promise.all([first, add(5)])
  assert.deepEqual(batches, [10, 20])
})

test('a batch that waits for further items waits no longer than it may', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { batches, add } = recorded({ ...options, gatherMs: 50, gatherUntil: 80 })
  await add(10)
  const second = add(15)
  t.mock.timers.tick(49)
  const third = add(3)
  await turn()
  assert.deepEqual(batches, [10], 'it waits')
  t.mock.timers.tick(1)
  await Promise.all([second, third])
  assert.deepEqual(batches, [10, 18])
})

test('a batch that waits for further items waits no longer once none came', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { batches, add } = recorded({ ...options, gatherMs: 50, quietMs: 10 })
  await add(10)
  const second = add(15)
  t.mock.timers.tick(9)
  const third = add(3)
  t.mock.timers.tick(1)
  await turn()
  assert.deepEqual(batches, [10], 'some came in the last 10 ms')
  t.mock.timers.tick(10)
  await Promise.all([second, third])
  assert.deepEqual(batches, [10, 18])
})

test('a small batch waits for the one that runs, a large one runs beside it', async () => {
  const { batches, add, finish } = blocked({ ...options, concurrency: 2, parallelFrom: 5 })
  const all = [add(1)]
  await turn()
  all.push(add(4))
  await turn()
  assert.deepEqual(batches, [1])
  all.push(add(1))
  await turn()
  assert.deepEqual(batches, [1, 5])
  all.push(add(7))
  await turn()
  assert.deepEqual(batches, [1, 5], 'no more than two at once')
  finish()
  await Promise.all(all)
  assert.deepEqual(batches, [1, 5, 7])
})

test('a small batch waits no longer for one that has run for 50 ms', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { batches, add, finish } = blocked({ ...options, concurrency: 2, parallelFrom: 5 })
  const all = [add(1)]
  await turn()
  all.push(add(2))
  t.mock.timers.tick(49)
  await turn()
  assert.deepEqual(batches, [1])
  t.mock.timers.tick(1)
  await turn()
  assert.deepEqual(batches, [1, 2])
  finish()
  await Promise.all(all)
})

test('items with one key are never in two batches at once, keep their order, delay no others', async () => {
  const batches: string[][] = []
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  const batcher = createBatcher<string, string>(
    async (items) => {
      batches.push([...items])
      await finished
      return items
    },
    { ...options, concurrency: 3, keyOf: (item) => item.charAt(0) },
  )
  const all = [batcher.add('a1')]
  await turn()
  all.push(...['a2', 'b1', 'a3', 'c1'].map((item) => batcher.add(item)))
  await turn()
  assert.deepEqual(batches, [['a1'], ['b1', 'c1']])
  finish()
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'b1', 'a3', 'c1'])
  assert.deepEqual(batches, [['a1'], ['b1', 'c1'], ['a2', 'a3']])
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A batcher that records the sizes of its batches. */
function recorded(batching: BatchOptions, until: Promise<void> = Promise.resolve()) {
  const batches: number[] = []
  const batcher = createBatcher<number, number>(async (items) => {
    batches.push(items.length)
    await until
    return items
  }, batching)
  const add = (count: number) => Promise.all(Array.from({ length: count }, (_, item) => batcher.add(item)))
  return { batches, add }
}

/** The same, of which no batch ends before `finish` is called. */
function blocked(batching: BatchOptions) {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { ...recorded(batching, promise), finish: resolve }
}
