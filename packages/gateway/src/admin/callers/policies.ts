import type { Identifier, Policy } from '@gatehouse/limiter'
import { badCredentials } from '../../config/default-limits.ts'
import type { Limits } from '../../config/limits.ts'
import { type RouteRule, unlimited } from '../../model/route-rule.ts'

/** A policy that counts a caller's requests. */
export interface ApplyingPolicy {
  readonly policy: Policy
  /** Whether it is a tier; a caller has one. */
  readonly isTier: boolean
  /** Whether it counts as the caller's tier: the tier itself, or what an override or the client has in its place. */
  readonly standsForTier: boolean
  /** Whether it counted requests of the caller in the last day. */
  readonly isSeen: boolean
}

interface CallerOfPolicies {
  readonly identifier: Identifier
  /** The caller's tier, where it is known without a request. */
  readonly tier: string | undefined
  /** The policy that the client has in place of its tier. */
  readonly clientPolicy?: string | undefined
  /** What counts for the caller in place of a policy: another one, or itself with other limits. */
  inPlaceOf(policy: Policy, identifier: Identifier): Policy
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
export function policiesOfCaller(caller: CallerOfPolicies): ApplyingPolicy[] {
  const { identifier, seen, limits } = caller
  const base = baseOf(caller)
  const find = (name: string) => (name === base?.name ? base : (limits.tiers.get(name) ?? limits.policies.get(name)))
  const names = new Set([...(base === undefined ? [] : [base.name]), ...seen, ...namesOfRoutes(caller)])
  names.delete(unlimited)
  // Counted in the memory of each process, so there is no standing to read.
  names.delete(badCredentials)
  const recent = new Set(seen)
  const isKnown = base !== undefined && identifier.kind !== 'key'
  return [...names]
    .flatMap((name) => {
      const policy = find(name)
      const isTier = limits.tiers.has(name)
      // All tiers have the same counters: that of a former plan would show the same again, under other limits.
      if (policy === undefined || (isTier && isKnown && policy !== base)) return []
      return [{ policy, isTier, standsForTier: policy === base, isSeen: recent.has(name) }]
    })
    .slice(0, maxPolicies)
}

/** What counts as the caller's tier; of a key, whose credential has the plan, the tier that counted it last. */
function baseOf({ identifier, tier, clientPolicy, inPlaceOf, seen, limits }: CallerOfPolicies): Policy | undefined {
  const ofAddress = identifier.kind === 'ip' ? 'anonymous' : undefined
  const counted = seen.find((name) => limits.tiers.has(name))
  const name = clientPolicy ?? tier ?? ofAddress ?? counted
  const policy = name === undefined ? undefined : (limits.tiers.get(name) ?? limits.policies.get(name))
  return policy && inPlaceOf(policy, identifier)
}

function namesOfRoutes({ identifier, limits, rules }: CallerOfPolicies): string[] {
  if (!requestKinds.has(identifier.kind)) return []
  // Public routes count every caller by its address.
  const open = rules.filter((rule) => identifier.kind === 'ip' || !rule.public)
  const global = limits.global === undefined ? [] : [limits.global.name]
  return [...open.flatMap(({ policy }) => (policy === undefined ? [] : [policy])), ...global]
}
