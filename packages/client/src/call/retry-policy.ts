/** The most attempts of one call, the first included. */
export const maxAttemptsOfCall = 4

const baseMs = 200
const spread = 0.1

/** A failed attempt, as the retry policy sees it. */
export interface FailedAttempt {
  /** Counted from 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** Whether the failure is one that may pass. */
  readonly retryable: boolean
  /** Whether the request may be sent twice: it is idempotent, or never left. */
  readonly repeatable: boolean
  readonly retryAfterMs: number | undefined
  /** Whether other calls of this client wait as well. */
  readonly othersWait: boolean
  /** Time left until the deadline of the call. */
  readonly remainingMs: number
}

/**
 * Milliseconds until the next attempt, undefined when there is none. A server that says how long to wait is exact for a
 * lone caller; callers that wait together are spread over a tenth more. Otherwise full jitter over 0.2 s × 2ⁿ.
 */
export function nextAttemptIn(failed: FailedAttempt, random: () => number): number | undefined {
  const { attempt, maxAttempts, retryable, repeatable, retryAfterMs = 0, othersWait, remainingMs } = failed
  if (!retryable || !repeatable || attempt >= maxAttempts) return undefined
  const waitMs =
    retryAfterMs > 0 ? retryAfterMs * (othersWait ? 1 + spread * random() : 1) : random() * baseMs * 2 ** (attempt - 1)
  return waitMs < remainingMs ? waitMs : undefined
}
