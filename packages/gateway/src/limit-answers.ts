import type { Decision, Limiter, Policy } from '@gatehouse/limiter'
import type { Limits } from './limits.ts'

/** Every tier and policy, as operators read them. */
export function limitsTold({ tiers, policies, lowest }: Limits) {
  return { lowest, tiers: [...tiers.values()].map(policyTold), policies: [...policies.values()].map(policyTold) }
}

function policyTold({ name, failureMode, advisory, quota, rules }: Policy) {
  return {
    name,
    failure_mode: failureMode,
    mode: advisory ? 'hybrid' : 'exact',
    quota,
    rules: rules.map((rule) => ({
      name: rule.name,
      algorithm: rule.algorithm,
      limit: rule.limit,
      window_seconds: rule.windowMs / 1000,
      shadow: rule.shadow,
    })),
  }
}

/** How a limit stands, in the words of the response headers. */
export function decisionTold(decision: Decision) {
  return {
    allowed: decision.allowed,
    ...standingTold(decision),
    source: decision.source,
    rules: decision.rules.map((rule) => ({
      name: rule.name,
      allowed: rule.allowed,
      shadow: rule.shadow,
      ...standingTold(rule),
    })),
  }
}

type Standing = Pick<Decision, 'limit' | 'remaining' | 'resetAt' | 'retryAfterSeconds'>

function standingTold({ limit, remaining, resetAt, retryAfterSeconds }: Standing) {
  return { limit, remaining, reset: Math.ceil(resetAt / 1000), retry_after: retryAfterSeconds }
}

type Explanation = Awaited<ReturnType<Limiter['explain']>>

/** Where a limit is counted and what its counts mean. */
export function explanationTold({ identifier, failureMode, rules, ...rest }: Explanation) {
  return {
    ...rest,
    identifier: { kind: identifier.kind, id: identifier.id },
    failure_mode: failureMode,
    rules: rules.map(({ name, algorithm, keys, text }) => ({ name, algorithm, keys: [...keys], text })),
  }
}
