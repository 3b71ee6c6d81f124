import type { Decision } from './decision.ts'
import type { BreakerState } from './failover/breaker.ts'

/** Labels of a check for metrics. */
export interface Labels {
  /** Route template, never a raw path; '' when none was passed. */
  readonly route: string
  /** Tier of the policy. */
  readonly tier: string
}

/** The two circuit breakers of a store: `fail_closed` is that of policies that fail closed, `standard` that of all others. */
export type BreakerScope = 'standard' | 'fail_closed'

/**
 * Receives the events of a limiter, for metrics. Count rate_limit_allowed_total and rate_limit_rejected_total in
 * `onDecision`. An exception of an observer is not caught.
 *
 * @example
 * const limiter = createLimiter({
 *   observer: {
 *     onDecision: ({ allowed }, { route, tier }) => (allowed ? admitted : rejected).inc({ route, tier }),
 *     onStoreTimeout: () => timeouts.inc(),
 *   },
 * })
 */
export interface Observer {
  /** A check was decided. */
  onDecision?(decision: Decision, labels: Labels): void
  /** A shadow rule would have rejected. */
  onShadowRejection?(rule: string, labels: Labels): void
  /** The store responded; once for the checks of one turn of the event loop. */
  onStoreResponse?(milliseconds: number): void
  /** The store did not respond in time; once for each check. */
  onStoreTimeout?(): void
  /** The store failed. */
  onStoreError?(error: unknown): void
  /** A circuit breaker of the store changed its state. */
  onBreakerChange?(state: BreakerState, scope: BreakerScope): void
  /** Lost counters were raised to what this process remembered. */
  onCountersRestored?(): void
}
