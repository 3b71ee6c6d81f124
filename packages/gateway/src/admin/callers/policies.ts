import type { Identifier, Policy } from '@gatehouse/limiter'
import { badCredentials } from '../../config/default-limits.ts'
import type { Limits } from '../../config/limits.ts'
import { type RouteRule, unlimited } from '../../model/route-rule.ts'

/** A policy that counts a caller's requests. */
export interface ApplyingPolicy {
  readonly policy: Policy
  /** Whether it is a tier; a caller has one. */
  readonly isTier: boolean
  /** Whether it counted requests of the caller in the last day. */
  readonly isSeen: boolean
}

interface CallerOfPolicies {
  readonly identifier: Identifier
  /** The caller's tier, where it is known without a request. */
  readonly tier: string | undefined
  /** Policies that counted requests of the caller. */
  readonly seen: readonly string[]
  readonly limits: Limits
  readonly rules: readonly RouteRule[]
}

/** The number of policies that are read at most. */
const maxPolicies = 50
/** Who requests come from; attempt limits count other kinds. */
const requestKinds = new Set(['user', 'client', 'key', 'ip'])

/** The policies that may count a caller: the tier, those that did count, those of routes, and the global one. */
export function policiesOfCaller({ identifier, tier, seen, limits, rules }: CallerOfPolicies): ApplyingPolicy[] {
  const isRequest = requestKinds.has(identifier.kind)
  const base = tier ?? (identifier.kind === 'ip' ? 'anonymous' : undefined)
  // Public routes count every caller by its address.
  const open = isRequest ? rules.filter((rule) => identifier.kind === 'ip' || !rule.public) : []
  const ofRoutes = open.flatMap(({ policy }) => (policy === undefined ? [] : [policy]))
  const global = isRequest && limits.global !== undefined ? [limits.global.name] : []
  const names = new Set([...(base === undefined ? [] : [base]), ...seen, ...ofRoutes, ...global])
  names.delete(unlimited)
  // Counted in the memory of each process, so there is no standing to read.
  names.delete(badCredentials)
  const recent = new Set(seen)
  return [...names]
    .flatMap((name) => {
      const policy = limits.tiers.get(name) ?? limits.policies.get(name)
      const isTier = limits.tiers.has(name)
      // All tiers have the same counters: that of a former plan would show the same again, under other limits.
      if (policy === undefined || (isTier && tier !== undefined && name !== tier)) return []
      return [{ policy, isTier, isSeen: recent.has(name) }]
    })
    .slice(0, maxPolicies)
}
