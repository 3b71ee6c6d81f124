import type { Decision } from './decision.ts'
import type { BreakerState } from './failover/breaker.ts'

/** What a check was about, as metrics label it. */
export interface Labels {
  /** Route template, never a raw path; '' when none was given. */
  readonly route: string
  readonly tier: string
}

/** Which of the two ways to the store: `quick` for most policies, `patient` for those that fail closed. */
export type BreakerScope = 'standard' | 'fail_closed'

/**
 * Told what happens, for metrics. `decided` is where rate_limit_allowed_total and rate_limit_rejected_total are counted.
 * Nothing an observer throws is caught.
 */
export interface Observer {
  onDecision?(decision: Decision, labels: Labels): void
  /** A shadow rule would have rejected. */
  onShadowRejection?(rule: string, labels: Labels): void
  /** The store answered, once for the checks of one turn. */
  onStoreResponse?(milliseconds: number): void
  /** The store took too long, once a check. */
  onStoreTimeout?(): void
  onStoreError?(error: unknown): void
  onBreakerChange?(state: BreakerState, patience: BreakerScope): void
  /** Counters had been lost and were raised to what this process remembered. */
  onCountersRestored?(): void
}
