import { windowIndex } from './algorithms/window.ts'
import type { Decision, RuleDecision, Source } from './decision.ts'
import type { BreakerState } from './failover/breaker.ts'
import { counterKey, type Identifier } from './key.ts'
import type { FailureMode } from './policy.ts'
import type { Algorithm, CountedRule } from './rule.ts'

/** Where one rule is counted, and what its counters mean. */
export interface RuleExplanation extends RuleDecision {
  /** How the rule counts. */
  readonly algorithm: Algorithm
  /** Keys of the counters as specified; in Redis Cluster the hash tag of a group follows the id, in braces. */
  readonly keys: readonly string[]
  /** A sentence for people. */
  readonly text: string
}

/** Why the next request of an identifier would be admitted or rejected. */
export interface Explanation {
  /** Who was looked up. */
  readonly identifier: Identifier
  /** Name of the policy. */
  readonly policy: string
  /** Tier of the policy. */
  readonly tier: string
  /** Whether a request of cost 1 would be admitted now. */
  readonly allowed: boolean
  /** What decided. */
  readonly source: Source
  /** What the policy does while the store is unavailable. */
  readonly failureMode: FailureMode
  /** State of the store's circuit breaker. */
  readonly breaker: BreakerState
  /** Every rule, in the order of the policy. */
  readonly rules: readonly RuleExplanation[]
}

/** Explains a decision on a request of cost 1. */
export function explain(identifier: Identifier, decision: Decision, breaker: BreakerState): Explanation {
  const { policy, allowed, source, now } = decision
  const rules = decision.rules.map((rule, i): RuleExplanation => {
    const counted = policy.rules[i] as CountedRule
    return {
      ...rule,
      algorithm: counted.algorithm,
      keys: keysOf(counted, identifier, now),
      text: describeRule(rule, counted),
    }
  })
  const { name, tier, failureMode } = policy
  return { identifier, policy: name, tier, allowed, source, failureMode, breaker, rules }
}

function keysOf(rule: CountedRule, identifier: Identifier, now: number): string[] {
  const key = counterKey(rule.scope, rule.subject ?? identifier)
  if (rule.algorithm === 'token-bucket') return [`${key}:bucket`]
  const index = windowIndex(now, rule.windowMs)
  return rule.algorithm === 'fixed-window' ? [`${key}:${index}`] : [`${key}:${index - 1}`, `${key}:${index}`]
}

function describeRule(rule: RuleDecision, { algorithm }: CountedRule): string {
  const left = `${rule.remaining} of ${rule.limit} left in ${rule.windowMs / 1000} s (${algorithm})`
  if (rule.allowed) return `${rule.name}: ${left}`
  return `${rule.name}: ${left}; the next is admitted in ${rule.retryAfterSeconds} s${rule.shadow ? ' (shadow)' : ''}`
}
