import { combinePolicies, type Identifier, type Policy } from '@gatehouse/limiter'
import { defineLimits, type Limits, type LimitsDeclaration } from '../config/limits.ts'
import { type Caller, holdsScope } from '../model/caller.ts'
import { unlimitedPlan } from '../model/plan.ts'
import type { RequestIdentity } from '../model/request-identity.ts'
import { type RouteRule, unlimited } from '../model/route-rule.ts'
import { createTiers, type TierOptions } from './tiers.ts'

/** The scope of callers that send events. */
const producerScope = 'write:notifications'

/** Selects the policy of a request. */
export interface Policies {
  /** The current limits. */
  limits(): Limits
  /** A policy or tier by name. @throws RangeError when there is none */
  get(name: string): Policy
  /**
   * The policy of a request: the caller's tier, the route's policy and the global one combined, which count all or
   * nothing; undefined when the request is not limited.
   */
  policyFor(identity: RequestIdentity, rule: RouteRule | undefined): Policy | undefined | Promise<Policy | undefined>
  /** The tier of a user or client, by the plan; undefined for other callers, whose credential has it. */
  tierOf(identifier: Identifier): Promise<string | undefined>
  /** Replaces tiers and policies. @throws RangeError when they are invalid; then the old ones stay */
  reload(declared: LimitsDeclaration): void
}

/**
 * Selects policies by the declared limits and routes.
 * @throws RangeError when the limits are invalid, or a route names an unknown policy
 */
export function createPolicies(
  declared: LimitsDeclaration,
  rules: readonly RouteRule[],
  lookup: Omit<TierOptions, 'limits'> & { readonly clientPolicies?: Readonly<Record<string, string>> | undefined },
): Policies {
  let limits = validateLimits(declared, rules)
  const tiers = createTiers({ ...lookup, limits: () => limits })
  const clientPolicies = new Map(Object.entries(lookup.clientPolicies ?? {}))
  const combine = (tier: Policy | undefined, route: Policy | undefined, global = limits.global) => {
    const policies = [tier, route, global].filter((policy) => policy !== undefined)
    return policies.length === 0 ? undefined : combinePolicies(policies)
  }
  /** The platform's own services count by a route's policy only. */
  const policyForPlan = (plan: string, rule: RouteRule | undefined, caller: Caller, route: Policy | undefined) => {
    if (plan === unlimitedPlan) return route
    const producers = rule?.producers !== undefined && holdsScope(caller, producerScope) ? rule.producers : undefined
    const tier = producers === undefined ? findPolicy(limits, plan, 'tier') : findPolicy(limits, producers, 'producers')
    return combine(tier, route)
  }
  return {
    limits: () => limits,
    get: (name) => findPolicy(limits, name, 'limit'),
    policyFor({ caller }, rule) {
      if (rule?.policy === unlimited) return undefined
      const route = rule?.policy === undefined ? undefined : findPolicy(limits, rule.policy, rule.path)
      if (route !== undefined && !(rule?.tier ?? !rule?.public)) return combine(undefined, route)
      if (caller === undefined) return combine(findPolicy(limits, 'anonymous', 'anonymous'), route)
      if (caller.plan !== undefined) return policyForPlan(tiers.tierOfPlan(caller.plan), rule, caller, route)
      const ofClient = caller.clientId === undefined ? undefined : clientPolicies.get(caller.clientId)
      if (ofClient !== undefined) return combine(findPolicy(limits, ofClient, 'client'), route)
      const plan = tiers.tierOf(caller.subject)
      return plan instanceof Promise
        ? plan.then((name) => policyForPlan(name, rule, caller, route))
        : policyForPlan(plan, rule, caller, route)
    },
    async tierOf({ kind, id }) {
      return kind === 'user' || kind === 'client' ? tiers.tierOf(id) : undefined
    },
    reload(next) {
      limits = validateLimits(
        { ...(declared.attemptLimits ? { attemptLimits: declared.attemptLimits } : {}), ...next },
        rules,
      )
    },
  }
}

function validateLimits(declared: LimitsDeclaration, rules: readonly RouteRule[]): Limits {
  const limits = defineLimits(declared)
  for (const { path, policy, producers } of rules)
    for (const name of [policy, producers])
      if (name !== undefined && name !== unlimited) findPolicy(limits, name, `route ${path}`)
  return limits
}

function findPolicy({ tiers, policies }: Limits, name: string, where: string): Policy {
  const policy = where === 'tier' ? tiers.get(name) : (policies.get(name) ?? tiers.get(name))
  if (policy) return policy
  throw new RangeError(
    `${where}: there is no policy "${name}"; there are ${[...policies.keys(), ...tiers.keys()].join(', ')}`,
  )
}
