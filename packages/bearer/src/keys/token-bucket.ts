/** Lets a burst pass, then one per interval. */
export class TokenBucket {
  readonly #burst: number
  readonly #intervalMs: number
  #tokens: number
  #filledAt = Number.NEGATIVE_INFINITY

  constructor(burst: number, intervalMs: number) {
    this.#burst = burst
    this.#intervalMs = intervalMs
    this.#tokens = burst
  }

  /** True when one more may pass at this time (Unix milliseconds). */
  tryConsume(now: number): boolean {
    const elapsed = Math.max(0, now - this.#filledAt)
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsed / this.#intervalMs)
    this.#filledAt = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
