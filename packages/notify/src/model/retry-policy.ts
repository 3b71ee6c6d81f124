/** How long a failed call waits before its next try. */
export interface Backoff {
  /** The longest pause after the first failure, in milliseconds. */
  readonly baseMs: number
  /** By what the longest pause grows with each further failure. */
  readonly factor: number
  readonly maxMs: number
}

/**
 * The pause after the `failures`-th failure (1 is the first): exponential with full jitter, anything from nothing to
 * the longest pause of that failure. `random` is in [0, 1).
 */
export function backoffMs(failures: number, backoff: Backoff, random: number): number {
  const maxPauseMs = Math.min(backoff.maxMs, backoff.baseMs * backoff.factor ** Math.max(0, failures - 1))
  return Math.floor(random * maxPauseMs)
}
