import type { Decision, Limiter, Policy } from '@gatehouse/limiter'
import type { Limits } from '../config/limits.ts'
import { type RouteRule, unlimited } from '../model/route-rule.ts'

/** Formats every tier and policy, and the routes that name one. */
export function formatLimits({ tiers, policies, lowest, global }: Limits, rules: readonly RouteRule[]) {
  return {
    lowest,
    ...(global === undefined ? {} : { global: global.name }),
    tiers: [...tiers.values()].map(formatPolicy),
    policies: [...policies.values()].map(formatPolicy),
    routes: rules.flatMap(({ path, methods, policy, producers, public: isPublic, tier }) =>
      policy === undefined && producers === undefined
        ? []
        : [
            {
              path,
              ...(methods === undefined ? {} : { methods: [...methods] }),
              ...(policy === undefined ? {} : { policy }),
              ...(producers === undefined ? {} : { producers }),
              tier: policy !== unlimited && (policy === undefined || (tier ?? !isPublic)),
            },
          ],
    ),
  }
}

function formatPolicy({ name, failureMode, advisory, quota, shared, rules }: Policy) {
  return {
    name,
    failure_mode: failureMode,
    mode: advisory ? 'hybrid' : 'exact',
    quota,
    shared,
    rules: rules.map((rule) => ({
      name: rule.name,
      algorithm: rule.algorithm,
      limit: rule.limit,
      window_seconds: rule.windowMs / 1000,
      shadow: rule.shadow,
    })),
  }
}

/** Formats the state of a limit, with the names of the response headers. */
export function formatDecision(decision: Decision) {
  return {
    allowed: decision.allowed,
    ...formatStatus(decision),
    source: decision.source,
    rules: decision.rules.map((rule) => ({
      name: rule.name,
      policy: rule.policy,
      allowed: rule.allowed,
      shadow: rule.shadow,
      ...formatStatus(rule),
    })),
  }
}

type LimitStatus = Pick<Decision, 'limit' | 'remaining' | 'resetAt' | 'retryAfterSeconds'>

function formatStatus({ limit, remaining, resetAt, retryAfterSeconds }: LimitStatus) {
  return { limit, remaining, reset: Math.ceil(resetAt / 1000), retry_after: retryAfterSeconds }
}

type Explanation = Awaited<ReturnType<Limiter['explain']>>

/** Formats where a limit is counted and what its counts mean. */
export function formatExplanation({ identifier, failureMode, rules, ...rest }: Explanation) {
  return {
    ...rest,
    identifier: { kind: identifier.kind, id: identifier.id },
    failure_mode: failureMode,
    rules: rules.map(({ name, policy, algorithm, keys, text }) => ({ name, policy, algorithm, keys: [...keys], text })),
  }
}
