import type { SendResult } from '@gatehouse/providers'
import type { TimelineEntryType } from '../notification/timeline.ts'
import type { SuppressionDays } from './suppression.ts'

/** How long a delivery waits after a failed attempt. */
export interface Backoff {
  /** The maximum pause after the first failure, in milliseconds. */
  readonly baseMs: number
  /** The factor by which the maximum pause grows with each further failure. */
  readonly factor: number
  /** The maximum pause after any failure, in milliseconds. */
  readonly maxMs: number
}

/**
 * The pause after the `failures`-th failure (1 is the first), in milliseconds: exponential with full jitter, between zero
 * and the maximum of that failure. `random` is in [0, 1).
 */
export function backoffMs(failures: number, backoff: Backoff, random: number): number {
  const maxPauseMs = Math.min(backoff.maxMs, backoff.baseMs * backoff.factor ** Math.max(0, failures - 1))
  return Math.floor(random * maxPauseMs)
}

/** How often and for how long a channel retries a delivery. */
export interface RetryPolicy {
  /** Failed attempts before a delivery ends. */
  readonly attempts: number
  readonly backoff: Backoff
  readonly suppressionDays: SuppressionDays
  /** How long a delivery waits for a provider, without an attempt that counts as failed, before it ends; milliseconds. */
  readonly patienceMs: number
}

/** What the result of one target means for its delivery. */
interface ResultRule {
  /** The target is sent to again. */
  readonly retries: boolean
  /** The attempt counts as failed. */
  readonly counts: boolean
  /**
   * Whether the next attempt prefers another provider: `if allowed` unless the event type forbids failover after a call
   * that may have been accepted, `if long` when the provider asks for a long pause.
   */
  readonly failover: 'always' | 'if allowed' | 'if long' | 'never'
}

const final = { retries: false, counts: false, failover: 'never' } as const

/** The first table of the retry policy: the meaning of a provider's result. */
export const resultRules: Readonly<Record<SendResult['kind'], ResultRule>> = {
  accepted: final,
  permanent: final,
  dead_token: final,
  transient: { retries: true, counts: true, failover: 'always' },
  ambiguous: { retries: true, counts: true, failover: 'if allowed' },
  misconfigured: { retries: true, counts: false, failover: 'always' },
  rate_limited: { retries: true, counts: false, failover: 'if long' },
}

/** What follows: the timeline entry that is appended, and what happens to the delivery. */
export interface Transition {
  readonly entry: TimelineEntryType
  readonly next: 'done' | 'again' | 'expired' | 'dead'
}

const sent = { entry: 'sent', next: 'done' } as const
const finished = { entry: 'finished', next: 'done' } as const
const dead = { entry: 'dead_letter', next: 'dead' } as const
const deferred = { entry: 'quiet_hours', next: 'again' } as const

/**
 * The second table: what follows each situation, by whether some target of the delivery was accepted in this attempt
 * (`now`), in an earlier one (`before`), or in none (`never`). A delivery that one target accepted never becomes a dead
 * letter for what the others came to, but for one whose workers died: nobody knows what it was about to do.
 */
export const transitions = {
  /** No target is left, the attempts are used up, or it waited too long. */
  ended: { now: sent, before: finished, never: dead },
  /** Targets are left, and the attempt counts as failed: the next one is a retry, or a failover to another provider. */
  failed: {
    now: { entry: 'sent', next: 'again' },
    before: { entry: 'attempt_failed', next: 'again' },
    never: { entry: 'attempt_failed', next: 'again' },
  },
  /** Targets are left, and the attempt does not count: no provider was available, or it asked for a pause. */
  postponed: {
    now: { entry: 'sent', next: 'again' },
    before: { entry: 'postponed', next: 'again' },
    never: { entry: 'postponed', next: 'again' },
  },
  /** It expired before this attempt. */
  expired: {
    before: { entry: 'finished', next: 'expired' },
    never: { entry: 'expired', next: 'expired' },
  },
  /** It is due in the quiet hours of its user. */
  quiet: { before: deferred, never: deferred },
  /** Too many workers died while they held it. */
  crashed: { before: dead, never: dead },
} as const satisfies Record<string, Partial<Readonly<Record<'now' | 'before' | 'never', Transition>>>>
