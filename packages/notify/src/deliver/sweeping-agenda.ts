import type { DueBuckets } from './poller.ts'

/** Visits all buckets together: when something is known to be due in any of them, and otherwise every `sweepMs`. */
export class SweepingAgenda implements DueBuckets {
  readonly buckets: readonly number[]
  readonly #sweepMs: number
  /** Unix milliseconds. */
  #dueAt = Number.NEGATIVE_INFINITY
  /** By `performance.now()`. */
  #visitedAt = Number.NEGATIVE_INFINITY

  constructor(buckets: readonly number[], sweepMs: number) {
    this.buckets = buckets
    this.#sweepMs = sweepMs
  }

  /** Something is due at `dueAt` (Unix milliseconds), or now. */
  hint(dueAt = Number.NEGATIVE_INFINITY): void {
    this.#dueAt = Math.min(this.#dueAt, dueAt)
  }

  take(now: number): readonly number[] {
    if (this.#dueAt > now && performance.now() - this.#visitedAt < this.#sweepMs) return []
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#visitedAt = performance.now()
    return this.buckets
  }

  visited(_buckets: readonly number[], nextDueAt = Number.POSITIVE_INFINITY): void {
    this.hint(nextDueAt)
  }

  failed(): void {
    this.hint()
  }
}
