/** When a provider's circuit breaker opens, and for how long. */
export interface BreakerRules {
  /** The span over which calls are counted, in milliseconds. */
  readonly windowMs: number
  /** Fewest calls in the span before their failures say anything. */
  readonly minCalls: number
  /** The share of failures (0 to 1) at which it opens. */
  readonly failureRate: number
  /** How long it stays open at first, in milliseconds; twice as long with each probe that fails. */
  readonly openMs: number
  readonly maxOpenMs: number
}

/** The state of a provider's circuit breaker: its calls of the current window, and whether it is open. */
export interface Health {
  /** When the window began, Unix milliseconds. */
  readonly since: number
  readonly calls: number
  readonly failures: number
  /** Set while open, Unix milliseconds; after it one call may probe (half open). */
  readonly openUntil?: number
  /** Openings in a row, without a successful probe between them. */
  readonly openings: number
}

/** Calls of a provider, and how many of them failed. */
export interface CountedCalls {
  readonly calls: number
  readonly failures: number
}

/**
 * The state after more calls. Closed: it opens when enough calls of the window failed. Open: a call is a probe (or was
 * under way before), and closes it or keeps it open for twice as long. An opening that lasts beyond the longest was made
 * by a clock that was ahead, and counts as over. `now` is in Unix milliseconds.
 */
export function nextHealth(before: Health, added: CountedCalls, rules: BreakerRules, now: number): Health {
  if (before.openUntil !== undefined) {
    if (now < before.openUntil && before.openUntil <= now + rules.maxOpenMs) return before
    return added.failures === 0 ? closedHealth(now) : openBreaker(before, rules, now)
  }
  const current = now < before.since + rules.windowMs ? before : { ...before, since: now, calls: 0, failures: 0 }
  const calls = current.calls + added.calls
  const failures = current.failures + added.failures
  const isTripped = calls >= rules.minCalls && failures >= calls * rules.failureRate && failures > 0
  return isTripped ? openBreaker(before, rules, now) : { since: current.since, calls, failures, openings: 0 }
}

/** A closed breaker whose calls count from now on, Unix milliseconds. */
export function closedHealth(now: number): Health {
  return { since: now, calls: 0, failures: 0, openings: 0 }
}

function openBreaker({ openings }: Health, rules: BreakerRules, now: number): Health {
  const openMs = Math.min(rules.maxOpenMs, rules.openMs * 2 ** Math.min(openings, 30))
  return { since: now, calls: 0, failures: 0, openUntil: now + openMs, openings: openings + 1 }
}
