/**
 * The limiter over the memory of one process, small enough for a browser: the same counting and the same decisions, no
 * store that could fail.
 *
 * @packageDocumentation
 */
import type { Clock } from './clock.ts'
import { createDecision, type Decision } from './decision.ts'
import type { Identifier } from './key.ts'
import { Counters, defaultMaxKeys } from './memory/counters.ts'
import type { Policy } from './policy.ts'

export { decisionHeaders, type HeaderOptions, type IetfFields } from './adapters/headers.ts'
export type { Clock } from './clock.ts'
export type { Decision, RuleDecision, Source } from './decision.ts'
export {
  declaredPolicy,
  declaredTier,
  type LimitsDeclaration,
  type PolicyDeclaration,
  type TierDeclaration,
} from './declaration.ts'
export type { Identifier } from './key.ts'
export type { FailureMode, Policy } from './policy.ts'
export type { Algorithm, CountedRule } from './rule.ts'

/** Checks requests in the memory of this process. Created by {@link createMemoryLimiter}. */
export interface MemoryLimiter {
  /**
   * Acquires one unit of every rule of the policy, or of none.
   *
   * @throws RangeError for an invalid identifier
   */
  check(policy: Policy, identifier: Identifier): Decision
}

/**
 * Creates a limiter that decides at once.
 *
 * @param clock the time; a simulation moves it
 * @example
 * let now = 0
 * const limiter = createMemoryLimiter({ now: () => now })
 * const decision = limiter.check(declaredTier('free', { rpm: 10 }), { kind: 'user', id: '42' })
 */
export function createMemoryLimiter(clock: Clock): MemoryLimiter {
  const counters = new Counters(defaultMaxKeys, () => {})
  return {
    check(policy, identifier) {
      return createDecision(policy, counters.acquire(policy, identifier, 1, clock.now()), 1, 'store')
    },
  }
}
