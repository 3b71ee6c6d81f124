import { bisect } from './bisect.ts'
import { isFaultOfInput } from './database/error.ts'

import { Problem } from './problem.ts'

/** How {@link createBatcher} forms batches. */
export interface BatchOptions {
  /** The maximum number of items in a batch. */
  readonly maxBatch: number
  /** How many batches run at once. */
  readonly concurrency: number
  /** How long a batch waits for further items while the load is high, in milliseconds. Default 2. */
  readonly gatherMs?: number
  /** With so many items a batch waits no longer. Default: `maxBatch`. */
  readonly gatherUntil?: number
  /** The maximum number of waiting items; beyond it `add` rejects with a {@link Problem} 503. */
  readonly maxWaiting: number
}

/** Runs items in batches that are added one by one. */
export interface Batcher<Item, Result> {
  /** Resolves with the result of the item. @throws Problem 503 when too many items wait */
  add(item: Item): Promise<Result>
  /** Resolves when every added item is done. */
  idle(): Promise<void>
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** After a batch of this size more items are likely: the next batch waits for them. */
const busyBatch = 8
const defaultGatherMs = 2

/**
 * Creates a batcher. An item runs at once while fewer than `concurrency` batches run; items added meanwhile form the next
 * batch. A batch that fails because of one of its items (see `isFaultOfInput`) is split in halves until only that item
 * rejects.
 *
 * @param work runs a batch and returns one result per item, in order
 *
 * @example
 * const lookups = createBatcher((ids: readonly string[]) => findUsers(ids), {
 *   maxBatch: 100,
 *   concurrency: 2,
 *   maxWaiting: 10_000,
 * })
 * const user = await lookups.add('alice')
 */
export function createBatcher<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  options: BatchOptions,
): Batcher<Item, Result> {
  const { gatherMs = defaultGatherMs, gatherUntil = options.maxBatch } = options
  const waiting: Array<Waiting<Item, Result>> = []
  const running = new Set<Promise<void>>()
  let scheduled = false
  let gathering: NodeJS.Timeout | undefined
  let busy = false

  const start = () => {
    scheduled = false
    gathering = undefined
    while (waiting.length > 0 && running.size < options.concurrency) {
      const batch = waiting.splice(0, options.maxBatch)
      busy = batch.length >= busyBatch
      const done: Promise<void> = settle(batch, work).then(() => {
        running.delete(done)
        if (waiting.length > 0) schedule()
      })
      running.add(done)
    }
  }
  const schedule = () => {
    const isFull = waiting.length >= gatherUntil
    if (isFull && gathering) {
      clearTimeout(gathering)
      gathering = undefined
    } else if (scheduled) return
    scheduled = true
    if (busy && !isFull) gathering = setTimeout(start, gatherMs)
    else setImmediate(start)
  }

  return {
    add(item) {
      if (waiting.length >= options.maxWaiting)
        return Promise.reject(
          new Problem(503, 'Too much is waiting to be stored; try again in a second.', {
            headers: { 'retry-after': '1' },
          }),
        )
      return new Promise<Result>((resolve, reject) => {
        waiting.push({ item, resolve, reject })
        schedule()
      })
    },
    async idle() {
      while (waiting.length > 0 || running.size > 0) {
        await Promise.all(running)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

function settle<Item, Result>(
  batch: ReadonlyArray<Waiting<Item, Result>>,
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  const run = async (part: ReadonlyArray<Waiting<Item, Result>>) => {
    const results = await work(part.map(({ item }) => item))
    for (const [index, { resolve, reject }] of part.entries()) {
      const result = results[index]
      if (result === undefined) reject(new Error('a batch answered for fewer items than it was given'))
      else resolve(result)
    }
  }
  return bisect(batch, run, {
    isFaultOfItem: isFaultOfInput,
    onFailure(error, failed) {
      for (const { reject } of failed) reject(error)
    },
  })
}
