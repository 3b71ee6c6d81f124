import { windowIndex } from './algorithms/window.ts'
import type { Decision, RuleDecision, Source } from './decision.ts'
import type { BreakerState } from './failover/breaker.ts'
import { counterKey, type Identifier } from './key.ts'
import type { FailureMode } from './policy.ts'
import type { Algorithm, CountedRule } from './rule.ts'

/** Where one rule is counted, and what it makes of the counts. */
export interface RuleExplanation extends RuleDecision {
  readonly algorithm: Algorithm
  /** Keys of the counters, as the specification shapes them; in Redis Cluster the tag of a group follows the id, in braces. */
  readonly keys: readonly string[]
  readonly text: string
}

/** What an operator asks when a user complains. */
export interface Explanation {
  readonly identifier: Identifier
  readonly policy: string
  readonly tier: string
  readonly allowed: boolean
  readonly source: Source
  readonly failureMode: FailureMode
  readonly breaker: BreakerState
  readonly rules: readonly RuleExplanation[]
}

/** Explains how the next request of cost 1 would fare. */
export function explain(identifier: Identifier, decision: Decision, breaker: BreakerState): Explanation {
  const { policy, allowed, source, now } = decision
  const rules = decision.rules.map((rule, i): RuleExplanation => {
    const counted = policy.rules[i] as CountedRule
    return {
      ...rule,
      algorithm: counted.algorithm,
      keys: keysOf(counted, identifier, now),
      text: textOf(rule, counted),
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

function textOf(rule: RuleDecision, { algorithm }: CountedRule): string {
  const left = `${rule.remaining} of ${rule.limit} left in ${rule.windowMs / 1000} s (${algorithm})`
  if (rule.allowed) return `${rule.name}: ${left}`
  return `${rule.name}: ${left}; the next is admitted in ${rule.retryAfterSeconds} s${rule.shadow ? ' (shadow)' : ''}`
}
