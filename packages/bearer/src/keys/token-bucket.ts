/** A token bucket: allows a burst, then one per interval. */
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

  /** Takes one token if there is one at this time (Unix milliseconds). */
  tryConsume(now: number): boolean {
    const elapsed = Math.max(0, now - this.#filledAt)
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsed / this.#intervalMs)
    this.#filledAt = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
