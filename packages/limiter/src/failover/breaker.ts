export type BreakerState = 'closed' | 'open' | 'half-open'

export interface BreakerOptions {
  /** Failures in a row that open it. Default 5. */
  readonly failures?: number
  /** How long it stays open at first, in milliseconds; doubles at every failed probe. Default 100. */
  readonly openMs?: number
  /** The longest it stays open. Default 5000. */
  readonly maxOpenMs?: number
  /** Told when the state changes. */
  readonly onChange?: (state: BreakerState) => void
}

/**
 * Spares requests the wait for a store that is known to be silent: after some failures in a row nobody asks any more, but
 * one probe after a while, whose answer decides.
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
    const { failures = 5, openMs = 100, maxOpenMs: longestOpenMs = 5000, onChange = () => {} } = options
    this.#options = { failures, openMs, maxOpenMs: longestOpenMs }
    this.#openMs = openMs
    this.#onChange = onChange
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Milliseconds until the next probe may be made; 0 when the store may be asked. */
  waitMs(now: number): number {
    return this.#state === 'closed' ? 0 : Math.max(0, this.#openUntil - now)
  }

  /** Whether to ask the store. While it is open only one caller, the probe, is let through. */
  admits(now: number): boolean {
    if (this.#state === 'closed') return true
    if (now < this.#openUntil) return false
    // A probe that never came back must not leave the breaker half-open forever.
    this.#openUntil = now + this.#openMs
    this.#change('half-open')
    return true
  }

  recordSuccess(): void {
    this.#failuresInRow = 0
    if (this.#state === 'closed') return
    this.#openMs = this.#options.openMs
    this.#change('closed')
  }

  /** `occasion` is what failed, so that many checks that travelled together fail once. */
  recordFailure(now: number, occasion: unknown): void {
    if (occasion === this.#lastFailure) return
    this.#lastFailure = occasion
    this.#failuresInRow++
    if (this.#state === 'half-open') this.#openMs = Math.min(this.#openMs * 2, this.#options.maxOpenMs)
    else if (this.#state === 'open' || this.#failuresInRow < this.#options.failures) return
    // Jitter, lest a fleet probes in step.
    this.#openUntil = now + this.#openMs * (0.75 + Math.random() / 2)
    this.#change('open')
  }

  #change(state: BreakerState): void {
    if (state === this.#state) return
    this.#state = state
    this.#onChange(state)
  }
}
