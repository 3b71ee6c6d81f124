import type { HandoverTarget, LeasedBatch } from '../../context/handover.ts'
import type { ClaimedDelivery } from '../../store/store.ts'

/** What the queue needs. */
export interface HandoverQueueOptions {
  readonly maxDeliveries: number
  /** Gives deliveries back that are not sent here. */
  readonly release: (deliveries: readonly ClaimedDelivery[]) => void
  /** Called when there is something to take. */
  readonly onAdded: () => void
}

interface Waiting extends Pick<LeasedBatch, 'claimedAt' | 'leaseEndsAt'> {
  readonly delivery: ClaimedDelivery
  /** By `performance.now()`. */
  readonly addedAt: number
}

/** While the first has waited for so long, in milliseconds, no more are handed over: others may send them sooner. */
const maxWaitMs = 1_000

/**
 * Deliveries that were admitted with a lease, on their way to the channel's worker: no claim has to find them. It is open
 * only while they would be sent at once; whatever is due already goes first. The queue is closed to begin with.
 */
export class HandoverQueue implements HandoverTarget {
  readonly #options: HandoverQueueOptions
  #waiting: Waiting[] = []
  #reserved = 0
  #isOpen = false
  #isStopped = false

  constructor(options: HandoverQueueOptions) {
    this.#options = options
  }

  open(): void {
    this.#isOpen = !this.#isStopped
  }

  /** No more is handed over until it is opened again; what waits is still taken. */
  close(): void {
    this.#isOpen = false
  }

  /** Releases what waits and all that still comes. */
  stop(): void {
    this.#isStopped = true
    this.#isOpen = false
    this.releaseAll()
  }

  /** Releases what waits. */
  releaseAll(): void {
    const waiting = this.#waiting
    this.#waiting = []
    if (waiting.length > 0) this.#options.release(waiting.map(({ delivery }) => delivery))
  }

  reserve(): boolean {
    const [first] = this.#waiting
    const isSlow = first !== undefined && performance.now() - first.addedAt > maxWaitMs
    if (!this.#isOpen || isSlow || this.#waiting.length + this.#reserved >= this.#options.maxDeliveries) return false
    this.#reserved++
    return true
  }

  cancel(count: number): void {
    this.#reserved -= count
  }

  add({ deliveries, claimedAt, leaseEndsAt }: LeasedBatch): void {
    this.#reserved -= deliveries.length
    const addedAt = performance.now()
    for (const delivery of deliveries) this.#waiting.push({ delivery, claimedAt, leaseEndsAt, addedAt })
    if (this.#isStopped) this.releaseAll()
    else this.#options.onAdded()
  }

  /**
   * Up to `max` of those that wait: what is critical first, then of each event type in turn. They share the earliest of
   * their claims and leases. Undefined where none waits.
   */
  take(max: number): LeasedBatch | undefined {
    if (this.#waiting.length === 0) return undefined
    const inOrder = this.#waiting.length > max || this.#waiting.some(({ delivery }) => delivery.critical)
    if (inOrder) this.#waiting = sortFairly(this.#waiting)
    const batch = this.#waiting.splice(0, max)
    return {
      deliveries: batch.map(({ delivery }) => delivery),
      claimedAt: Math.min(...batch.map(({ claimedAt }) => claimedAt)),
      leaseEndsAt: Math.min(...batch.map(({ leaseEndsAt }) => leaseEndsAt)),
    }
  }
}

/** What is critical first; then the first of each event type, the second of each, and so on. */
function sortFairly(waiting: readonly Waiting[]): Waiting[] {
  const counts = new Map<string, number>()
  const ranked = waiting.map((each) => {
    const { critical, event } = each.delivery
    const key = `${critical} ${event}`
    const rank = counts.get(key) ?? 0
    counts.set(key, rank + 1)
    return { each, rank, critical }
  })
  ranked.sort((a, b) => Number(b.critical) - Number(a.critical) || a.rank - b.rank)
  return ranked.map(({ each }) => each)
}
