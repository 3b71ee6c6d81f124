import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Retries, type RetriesOptions } from '../../src/deliver/retries.ts'

interface Item {
  readonly claimed: { readonly bucket: number }
  readonly name: string
}

const item = (bucket: number, name: string): Item => ({ claimed: { bucket }, name })
const lost = new Error('the node is away')

/** Retries whose work fails for the buckets in `failing`. */
function createRetries(failing: Set<number>, options: Partial<RetriesOptions<Item>> = {}) {
  const done: string[] = []
  const abandoned: number[] = []
  const retries = new Retries<Item>({
    async work(items) {
      done.push(...items.filter(({ claimed }) => !failing.has(claimed.bucket)).map(({ name }) => name))
      return new Map([...failing].map((bucket) => [bucket, lost]))
    },
    onAbandoned: (failed) => abandoned.push(...failed.keys()),
    forMs: 60_000,
    maxItems: 100,
    maxAtOnce: 100,
    ...options,
  })
  return { retries, done, abandoned }
}

describe('what could not be recorded for buckets that fail', () => {
  test('what failed is tried again, and nothing else', async () => {
    const { retries, done, abandoned } = createRetries(new Set())
    retries.add([item(1, 'failed'), item(2, 'recorded'), item(1, 'failed too')], new Map([[1, lost]]))
    await retries.drain()
    assert.deepEqual(done, ['failed', 'failed too'])
    assert.deepEqual(abandoned, [])
  })

  test('one bucket that fails on does not keep another from being tried again', async () => {
    const failing = new Set([1])
    const { retries, done } = createRetries(failing, { forMs: 1_000 })
    retries.add([item(1, 'lost'), item(2, 'back')], new Map([1, 2].map((bucket) => [bucket, lost])))
    await retries.drain()
    assert.deepEqual(done, ['back'])
  })

  test('it is given up when its time has ended', async () => {
    const { retries, abandoned } = createRetries(new Set([1]), { forMs: 300 })
    retries.add([item(1, 'lost')], new Map([[1, lost]]))
    await retries.drain()
    assert.deepEqual(abandoned, [1])
  })

  test('a value that is rejected is given up at once', async () => {
    const { retries, done, abandoned } = createRetries(new Set())
    retries.add([item(1, 'invalid')], new Map([[1, Object.assign(new Error('too long'), { code: '22001' })]]))
    assert.deepEqual(abandoned, [1])
    await retries.drain()
    assert.deepEqual(done, [])
  })

  test('with more than may wait, what waits longest is given up', async () => {
    const { retries, done, abandoned } = createRetries(new Set(), { maxItems: 2 })
    for (const bucket of [1, 2, 3]) retries.add([item(bucket, `of ${bucket}`)], new Map([[bucket, lost]]))
    assert.deepEqual(abandoned, [1])
    await retries.drain()
    assert.deepEqual(done, ['of 2', 'of 3'])
  })

  test('what was tried in vain is given up before what came meanwhile', async () => {
    const done: string[] = []
    let calls = 0
    const { retries, abandoned } = createRetries(new Set(), {
      maxItems: 2,
      async work(items) {
        if (++calls > 1) done.push(...items.map(({ name }) => name))
        else for (const bucket of [3, 4]) retries.add([item(bucket, `of ${bucket}`)], new Map([[bucket, lost]]))
        return calls > 1 ? new Map() : new Map([1, 2].map((bucket) => [bucket, lost]))
      },
    })
    retries.add([item(1, 'of 1'), item(2, 'of 2')], new Map([1, 2].map((bucket) => [bucket, lost])))
    await retries.drain()
    assert.deepEqual(
      [done, abandoned],
      [
        ['of 3', 'of 4'],
        [1, 2],
      ],
    )
  })

  test('of many no more are tried at once than may be, those that wait longest first', async () => {
    const tried: string[][] = []
    const { retries } = createRetries(new Set(), {
      maxAtOnce: 2,
      async work(items) {
        tried.push(items.map(({ name }) => name))
        return new Map()
      },
    })
    retries.add(
      ['a', 'b', 'c'].map((name) => item(1, name)),
      new Map([[1, lost]]),
    )
    await retries.drain()
    assert.deepEqual(tried, [['a', 'b'], ['c']])
  })

  test('a failure of the whole database leaves all of it to be tried again', async () => {
    let calls = 0
    const tried: number[] = []
    const { retries } = createRetries(new Set(), {
      async work(items) {
        tried.push(items.length)
        if (++calls === 1) throw lost
        return new Map()
      },
    })
    retries.add([item(1, 'a'), item(2, 'b')], new Map([1, 2].map((bucket) => [bucket, lost])))
    await retries.drain()
    assert.deepEqual(tried, [2, 2])
  })
})
