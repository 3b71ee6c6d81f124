import type { Decision, Identifier } from '@gatehouse/limiter'
import type { SketchEntry } from './space-saving.ts'

/**
 * What became of a request: `shadow` is one that a shadow rule would have rejected, `released` one that was rejected and
 * that no shadow rule would have.
 */
export type Outcome = 'allowed' | 'rejected' | 'shadow' | 'released'

/** What statistics are by. */
export type Dimension = 'policy' | 'route' | 'tier'

/** How many requests of a label had an outcome. */
export interface LabelCount {
  readonly by: Dimension
  /** The name of the policy or tier, or the template of the route. */
  readonly name: string
  readonly outcome: Outcome
  /** The rule that rejected, or would have; by policy only. */
  readonly rule?: string
  /** The policy with rules in shadow that this compares; by route and tier only. */
  readonly policy?: string
  readonly count: number
}

/** A rejected request. */
export interface Rejection {
  /** Unix milliseconds. */
  readonly at: number
  readonly policy: string
  readonly rule: string
  readonly route: string
  readonly identifier: Identifier
  readonly retryAfterSeconds: number
  /** What decided: `closed` when the counter store was unavailable and the policy fails closed. */
  readonly source: Decision['source']
  readonly requestId?: string
}

/** Callers that were counted, and by how much any other count is too low at most. */
export interface CallerSketch {
  readonly entries: readonly SketchEntry[]
  readonly missed: number
}

/** What the requests of a few seconds add up to. */
export interface Period {
  /** When it began, in Unix milliseconds. */
  readonly at: number
  readonly allowed: CallerSketch
  readonly rejected: CallerSketch
  readonly labels: readonly LabelCount[]
  /** The last ones, oldest first. */
  readonly rejections: readonly Rejection[]
}

/** Whether nothing happened in a period. */
export function isEmptyPeriod({ allowed, rejected }: Period): boolean {
  return allowed.entries.length === 0 && rejected.entries.length === 0
}
