import { setTimeout } from 'node:timers/promises'
import { isRefusedValue } from '@gatehouse/kit'
import type { BucketErrors } from '../store/store.ts'

/** Something that belongs to a claimed delivery. */
interface OfDelivery {
  readonly claimed: { readonly bucket: number }
}

/** Options of {@link Retries}. */
export interface RetriesOptions<Item extends OfDelivery> {
  /** Does the work on items of several buckets; answers those that failed. */
  readonly work: (items: readonly Item[]) => Promise<BucketErrors>
  /** Called with what will not be tried again, and with the error of each bucket. */
  readonly onAbandoned: (failed: BucketErrors) => void
  /** For how long something is tried, in milliseconds. */
  readonly forMs: number
  /** The maximum number of items that wait. What waits longest is then given up. */
  readonly maxItems: number
  /** The maximum number of items in one call of `work`. */
  readonly maxAtOnce: number
}

interface Waiting<Item> {
  readonly item: Item
  readonly error: unknown
  /** By `performance.now()`. */
  readonly deadline: number
}

const minPauseMs = 250
const maxPauseMs = 2_000

/**
 * Tries again what failed in some buckets, what waits longest first, apart from the work on other buckets, which goes on
 * meanwhile.
 */
export class Retries<Item extends OfDelivery> {
  readonly #options: RetriesOptions<Item>
  #waiting: ReadonlyArray<Waiting<Item>> = []
  #running: Promise<void> | undefined

  constructor(options: RetriesOptions<Item>) {
    this.#options = options
  }

  /** Tries those of these items again that are of a bucket that failed, unless their values were rejected. */
  add(items: readonly Item[], failed: BucketErrors): void {
    const deadline = performance.now() + this.#options.forMs
    const fresh = items.map((item) => ({ item, error: failed.get(item.claimed.bucket), deadline }))
    this.#keep([...this.#waiting, ...fresh])
    if (this.#waiting.length > 0) this.#running ??= this.#run()
  }

  /** Resolves when nothing waits. */
  async drain(): Promise<void> {
    await this.#running
  }

  /** Has those wait that failed and have time left, the first of which wait longest. */
  #keep(tried: ReadonlyArray<Waiting<Item>>): void {
    const failed = tried.filter(({ error }) => error !== undefined)
    const now = performance.now()
    const { true: left = [], false: ended = [] } = Object.groupBy(
      failed,
      ({ error, deadline }) => `${deadline > now && !isRefusedValue(error)}`,
    )
    const surplus = Math.max(0, left.length - this.#options.maxItems)
    this.#waiting = left.slice(surplus)
    this.#abandon([...ended, ...left.slice(0, surplus)])
  }

  #abandon(items: ReadonlyArray<Waiting<Item>>): void {
    if (items.length === 0) return
    this.#options.onAbandoned(new Map(items.map(({ item, error }) => [item.claimed.bucket, error])))
  }

  async #run(): Promise<void> {
    for (let pauseMs = minPauseMs; this.#waiting.length > 0; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
      await setTimeout(pauseMs)
      const tried = this.#waiting
      this.#waiting = []
      const again: Array<Waiting<Item>> = []
      for (let from = 0; from < tried.length; from += this.#options.maxAtOnce) {
        const some = tried.slice(from, from + this.#options.maxAtOnce)
        const errorOf = await this.#try(some.map(({ item }) => item))
        again.push(...some.map((each) => ({ ...each, error: errorOf(each.item) })))
      }
      this.#keep([...again, ...this.#waiting])
    }
    this.#running = undefined
  }

  async #try(items: readonly Item[]): Promise<(item: Item) => unknown> {
    try {
      const failed = await this.#options.work(items)
      return ({ claimed }) => failed.get(claimed.bucket)
    } catch (error) {
      return () => error
    }
  }
}
