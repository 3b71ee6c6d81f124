import type { BreakerRules } from '../config/options.ts'

/** What is known of a provider: its calls of the current span, and whether its breaker is open. */
export interface Health {
  readonly since: number
  readonly calls: number
  readonly failures: number
  /** Set while open; when it has passed, one call may probe (half open). */
  readonly openUntil?: number
  /** Openings in a row, without a probe that went well between them. */
  readonly openings: number
}

/**
 * What calls make of a provider's health. Closed: it opens when enough calls of the span failed. Open: a call is a
 * probe (or one that was under way), and closes it or keeps it open for twice as long.
 */
export function nextHealth(
  before: Health,
  seen: { readonly calls: number; readonly failures: number },
  rules: BreakerRules,
  now: number,
): Health {
  if (before.openUntil !== undefined) {
    if (now < before.openUntil) return before
    return seen.failures === 0 ? fresh(now) : opened(before, rules, now)
  }
  const current = now < before.since + rules.windowMs ? before : { ...before, since: now, calls: 0, failures: 0 }
  const calls = current.calls + seen.calls
  const failures = current.failures + seen.failures
  const tripped = calls >= rules.minCalls && failures >= calls * rules.failureRate && failures > 0
  return tripped ? opened(before, rules, now) : { since: current.since, calls, failures, openings: 0 }
}

function fresh(now: number): Health {
  return { since: now, calls: 0, failures: 0, openings: 0 }
}

function opened({ openings }: Health, rules: BreakerRules, now: number): Health {
  const openMs = Math.min(rules.maxOpenMs, rules.openMs * 2 ** Math.min(openings, 30))
  return { since: now, calls: 0, failures: 0, openUntil: now + openMs, openings: openings + 1 }
}
