import { bisect } from './bisect.ts'
import { isFaultOfInput } from './database/error.ts'

import { Problem } from './problem.ts'

/** How {@link createBatcher} forms batches. */
export interface BatchOptions<Item = unknown> {
  /** The maximum number of items in a batch. */
  readonly maxBatch: number
  /** How many batches run at once. */
  readonly concurrency: number
  /**
   * With fewer items than that, no batch starts beside another: a small one costs almost as much as a large one. Beside
   * one that has run for longer than 50 ms any starts. Default 1.
   */
  readonly parallelFrom?: number
  /** Items with the same key are never in two batches at once, and keep their order. Default: none has a key. */
  readonly keyOf?: (item: Item) => string
  /** How long at most a batch waits for further items while the load is high, in milliseconds. Default 2. */
  readonly gatherMs?: number
  /** A batch waits no longer once none came for so long, in milliseconds. Default: `gatherMs`. */
  readonly quietMs?: number
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

/** Runs a batch and returns one result per item, in order. */
type Work<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>

/** After a batch of this size more items are likely: the next batch waits for them. */
const busyBatch = 8
const defaultGatherMs = 2
/** A batch that runs for longer, as behind a lock, no longer keeps a small one waiting. */
const slowMs = 50

/**
 * Creates a batcher. An item runs at once unless `concurrency` or `parallelFrom` make it wait; items added meanwhile form
 * the next batch. A batch that fails because of one of its items (see `isFaultOfInput`) is split in halves until only that item rejects.
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
  work: Work<Item, Result>,
  options: BatchOptions<Item>,
): Batcher<Item, Result> {
  return new Queue(work, options)
}

class Queue<Item, Result> implements Batcher<Item, Result> {
  readonly #work: Work<Item, Result>
  readonly #options: Required<Omit<BatchOptions<Item>, 'keyOf'>> & Pick<BatchOptions<Item>, 'keyOf'>
  #waiting: Array<Waiting<Item, Result>> = []
  readonly #running = new Set<Promise<void>>()
  readonly #runningKeys = new Set<string>()
  #slow = 0
  #isScheduled = false
  #gathering: NodeJS.Timeout | undefined
  #isBusy = false

  constructor(work: Work<Item, Result>, options: BatchOptions<Item>) {
    const { gatherMs = defaultGatherMs, quietMs = gatherMs, gatherUntil = options.maxBatch } = options
    this.#work = work
    this.#options = { parallelFrom: 1, ...options, gatherMs, quietMs, gatherUntil }
  }

  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#options.maxWaiting)
      return Promise.reject(
        new Problem(503, 'Too much is waiting to be stored; try again in a second.', {
          headers: { 'retry-after': '1' },
        }),
      )
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#schedule()
    })
  }

  async idle(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running.size > 0) {
      await Promise.all(this.#running)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #schedule(): void {
    const isFull = this.#waiting.length >= this.#options.gatherUntil
    if (isFull && this.#gathering) {
      clearTimeout(this.#gathering)
      this.#gathering = undefined
    } else if (this.#isScheduled) return
    this.#isScheduled = true
    if (this.#isBusy && !isFull) this.#gather(0)
    else setImmediate(this.#start)
  }

  #gather(waitedMs: number): void {
    const { gatherMs, quietMs } = this.#options
    const before = this.#waiting.length
    this.#gathering = setTimeout(() => {
      const isQuiet = this.#waiting.length === before
      if (isQuiet || waitedMs + quietMs >= gatherMs) this.#start()
      else this.#gather(waitedMs + quietMs)
    }, quietMs)
  }

  readonly #start = (): void => {
    this.#isScheduled = false
    this.#gathering = undefined
    while (this.#mayStart()) {
      const batch = this.#take()
      if (batch.length === 0) return
      this.#isBusy = batch.length >= busyBatch
      this.#run(batch)
    }
  }

  #mayStart(): boolean {
    const { concurrency, parallelFrom } = this.#options
    if (this.#waiting.length === 0 || this.#running.size >= concurrency) return false
    return this.#running.size === this.#slow || this.#waiting.length >= parallelFrom
  }

  /** Removes the items of the next batch from those that wait. */
  #take(): Array<Waiting<Item, Result>> {
    const { keyOf, maxBatch } = this.#options
    if (!keyOf || this.#runningKeys.size === 0) return this.#waiting.splice(0, maxBatch)
    const batch: Array<Waiting<Item, Result>> = []
    const blocked: Array<Waiting<Item, Result>> = []
    let at = 0
    for (const each of this.#waiting) {
      if (batch.length === maxBatch) break
      const isBlocked = this.#runningKeys.has(keyOf(each.item))
      if (isBlocked) blocked.push(each)
      else batch.push(each)
      at++
    }
    this.#waiting = [...blocked, ...this.#waiting.slice(at)]
    return batch
  }

  #run(batch: ReadonlyArray<Waiting<Item, Result>>): void {
    const { keyOf } = this.#options
    const keys = keyOf ? batch.map(({ item }) => keyOf(item)) : []
    for (const key of keys) this.#runningKeys.add(key)
    let isSlow = false
    const slowness = setTimeout(() => {
      isSlow = true
      this.#slow++
      if (this.#waiting.length > 0) this.#schedule()
    }, slowMs)
    const done: Promise<void> = settle(batch, this.#work).then(() => {
      clearTimeout(slowness)
      if (isSlow) this.#slow--
      this.#running.delete(done)
      for (const key of keys) this.#runningKeys.delete(key)
      if (this.#waiting.length > 0) this.#schedule()
    })
    this.#running.add(done)
  }
}

function settle<Item, Result>(batch: ReadonlyArray<Waiting<Item, Result>>, work: Work<Item, Result>): Promise<void> {
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
