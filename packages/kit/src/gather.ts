import { bisect } from './bisect.ts'
import { isFaultOfInput } from './database-error.ts'
import { Problem } from './problem.ts'

export interface GatherOptions {
  /** Most items taken together. */
  readonly most: number
  /** Batches under way at once. */
  readonly lanes: number
  /** How long an item waits for company after a batch of many, in milliseconds. Default 2. */
  readonly gatherMs?: number
  /** Most items that wait. Beyond it the answer is 503. */
  readonly mostWaiting: number
}

/** Work given one by one and done together. */
export interface Gatherer<Item, Result> {
  do(item: Item): Promise<Result>
  /** Resolves when everything given so far is done. */
  idle(): Promise<void>
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** A batch of so many says that more is coming: the next one waits a moment for company. */
const busyBatch = 8
const defaultGatherMs = 2

/**
 * Gathers what is asked for at the same time into batches: an item that finds a free lane goes at once, those that come
 * while every lane is busy go together. A batch that fails by the fault of what is in it is halved until only the
 * culprit gets the error.
 */
export function createGatherer<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  options: GatherOptions,
): Gatherer<Item, Result> {
  const { gatherMs = defaultGatherMs } = options
  const waiting: Array<Waiting<Item, Result>> = []
  const running = new Set<Promise<void>>()
  let scheduled = false
  let busy = false

  const start = () => {
    scheduled = false
    while (waiting.length > 0 && running.size < options.lanes) {
      const batch = waiting.splice(0, options.most)
      busy = batch.length >= busyBatch
      const done: Promise<void> = settle(batch, work).then(() => {
        running.delete(done)
        if (waiting.length > 0) schedule()
      })
      running.add(done)
    }
  }
  const schedule = () => {
    if (scheduled) return
    scheduled = true
    if (busy && waiting.length < options.most) setTimeout(start, gatherMs)
    else setImmediate(start)
  }

  return {
    do(item) {
      if (waiting.length >= options.mostWaiting)
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
