/** `closed` calls go through; `open` none does; `half-open` one probe is under way. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** Options of a {@link Breaker}. */
export interface BreakerOptions {
  /** Consecutive failures after which it opens. Default 5. */
  readonly failures?: number
  /** How long it stays open at first, in milliseconds; doubles with every failed probe. Default 100. */
  readonly openMs?: number
  /** Maximum time it stays open, in milliseconds. Default 5000. */
  readonly maxOpenMs?: number
  /** Called when the state changes. */
  readonly onChange?: (state: BreakerState) => void
}

/** Bounds of the factor by which the time that a breaker stays open varies. */
const minJitter = 0.75
const maxJitter = 1.25

/**
 * A circuit breaker: after some consecutive failures it lets no call through, so that nobody waits for a server that is
 * known to be unavailable. After a while it admits one probe, whose outcome decides.
 *
 * @example
 * const breaker = new Breaker({ failures: 3 })
 * if (!breaker.admits(Date.now())) throw new Error('the server is unavailable')
 * try {
 *   await call()
 *   breaker.recordSuccess()
 * } catch (error) {
 *   breaker.recordFailure(Date.now(), error)
 *   throw error
 * }
 */
export class Breaker {
  #state: BreakerState = 'closed'
  #failuresInRow = 0
  #lastFailure: unknown
  #openUntil = 0
  #openMs: number
  readonly #options: Required<Omit<BreakerOptions, 'onChange'>>
  readonly #onChange: (state: BreakerState) => void

  constructor(options: BreakerOptions = {}) {
    const { failures = 5, openMs = 100, maxOpenMs = 5000, onChange = () => {} } = options
    this.#options = { failures, openMs, maxOpenMs }
    this.#openMs = openMs
    this.#onChange = onChange
  }

  /** The state at this moment. */
  get state(): BreakerState {
    return this.#state
  }

  /** Milliseconds until the next probe is admitted; 0 when calls go through. `now` is Unix milliseconds. */
  waitMs(now: number): number {
    return this.#state === 'closed' ? 0 : this.#leftMs(now)
  }

  /**
   * Whether to call the server. While the breaker is open only one caller, the probe, is admitted; the next one after
   * `withoutOutcomeMs` where nothing is recorded of it. Default: the time that it was open.
   */
  admits(now: number, withoutOutcomeMs: number = this.#openMs): boolean {
    if (this.#state === 'closed') return true
    if (this.#leftMs(now) > 0) return false
    // A probe without an outcome must not leave the breaker half-open forever.
    this.#openUntil = now + withoutOutcomeMs
    this.#change('half-open')
    return true
  }

  /** Records that a call succeeded, which closes the breaker. */
  recordSuccess(): void {
    this.#failuresInRow = 0
    if (this.#state === 'closed') return
    this.#openMs = this.#options.openMs
    this.#change('closed')
  }

  /** Records a failure. Calls with the same `occasion` count as one failure, such as those of one batch. */
  recordFailure(now: number, occasion: unknown): void {
    if (occasion === this.#lastFailure) return
    this.#lastFailure = occasion
    this.#failuresInRow++
    if (this.#state === 'half-open') this.#openMs = Math.min(this.#openMs * 2, this.#options.maxOpenMs)
    else if (this.#state === 'open' || this.#failuresInRow < this.#options.failures) return
    // Jitter keeps a fleet from probing at the same moment.
    this.#openUntil = now + this.#openMs * (minJitter + Math.random() * (maxJitter - minJitter))
    this.#change('open')
  }

  #leftMs(now: number): number {
    const left = Math.max(0, this.#openUntil - now)
    // More is left only where the clock went back.
    return left > this.#openMs * maxJitter ? 0 : left
  }

  #change(state: BreakerState): void {
    if (state === this.#state) return
    this.#state = state
    this.#onChange(state)
  }
}
