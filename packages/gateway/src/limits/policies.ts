import { combinePolicies, type Identifier, type Policy } from '@gatehouse/limiter'
import { findPolicy, limitsFor } from '../config/declared-limits.ts'
import type { Limits, LimitsDeclaration } from '../config/limits.ts'
import { type Caller, holdsScope } from '../model/caller.ts'
import type { ClientPolicy, LimitOverride } from '../model/limit-feed.ts'
import { unlimitedPlan } from '../model/plan.ts'
import type { RequestIdentity } from '../model/request-identity.ts'
import { type RouteRule, unlimited } from '../model/route-rule.ts'
import { Overrides } from './overrides.ts'
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
  /** The policy that counts a client in place of its tier; undefined for callers of another kind. */
  clientPolicyOf(identifier: Identifier): string | undefined
  /** The override of a caller. */
  overrideOf(identifier: Identifier): LimitOverride | undefined
  /** What counts for a caller in place of a tier, or of a policy that stands for one. */
  inPlaceOf(policy: Policy, identifier: Identifier): Policy
  /** Replaces tiers and policies. @throws RangeError when they are invalid; then the old ones stay */
  reload(declared: LimitsDeclaration): void
  /** Replaces the limits of single callers. */
  setOverrides(overrides: readonly LimitOverride[]): void
  /** Replaces the policies of clients, except the built-in ones. */
  setClientPolicies(clients: readonly ClientPolicy[]): void
}

/** The policies of clients. */
export interface DeclaredClientPolicies {
  /** By the id of the client, until others are set. */
  readonly clientPolicies?: Readonly<Record<string, string>> | undefined
  /** By the id of the client, whatever is set. */
  readonly builtInClientPolicies?: Readonly<Record<string, string>> | undefined
}

/**
 * Selects policies by the declared limits and routes.
 * @throws RangeError when the limits are invalid, or a route names an unknown policy
 */
export function createPolicies(
  declared: LimitsDeclaration,
  rules: readonly RouteRule[],
  lookup: Omit<TierOptions, 'limits'> & DeclaredClientPolicies,
): Policies {
  let limits = limitsFor(declared, rules)
  const tiers = createTiers({ ...lookup, limits: () => limits })
  const overrides = new Overrides(lookup.clock, (name) => limits.tiers.get(name) ?? limits.policies.get(name))
  const { clientPolicies: declaredByClient = {}, builtInClientPolicies: builtIn = {} } = lookup
  let byClient = new Map(Object.entries({ ...declaredByClient, ...builtIn }))
  /** A policy that is gone stands for nothing: the caller then counts by its tier. */
  const policyOfClient = (client: string | undefined) => {
    const name = client === undefined ? undefined : byClient.get(client)
    return name === undefined ? undefined : (limits.policies.get(name) ?? limits.tiers.get(name))
  }
  const combine = (tier: Policy | undefined, route: Policy | undefined, global = limits.global) => {
    const policies = [tier, route, global].filter((policy) => policy !== undefined)
    return policies.length === 0 ? undefined : combinePolicies(policies)
  }
  /** The platform's own services count by a route's policy only. */
  const policyForPlan = (plan: string, { caller, identifier, rule, route }: PlannedRequest) => {
    if (plan === unlimitedPlan) return route
    const producers = rule?.producers !== undefined && holdsScope(caller, producerScope) ? rule.producers : undefined
    const tier = producers === undefined ? findPolicy(limits, plan, 'tier') : findPolicy(limits, producers, 'producers')
    return combine(overrides.apply(identifier, tier), route)
  }
  return {
    limits: () => limits,
    get: (name) => findPolicy(limits, name, 'limit'),
    policyFor({ caller, identifier }, rule) {
      if (rule?.policy === unlimited) return undefined
      const route = rule?.policy === undefined ? undefined : findPolicy(limits, rule.policy, rule.path)
      if (route !== undefined && !(rule?.tier ?? !rule?.public)) return combine(undefined, route)
      const inPlaceOfTier = (policy: Policy) => combine(overrides.apply(identifier, policy), route)
      if (caller === undefined) return inPlaceOfTier(findPolicy(limits, 'anonymous', 'anonymous'))
      const ofClient = byClient.size === 0 ? undefined : policyOfClient(clientOf(caller))
      if (ofClient !== undefined) return inPlaceOfTier(ofClient)
      const request = { caller, identifier, rule, route }
      if (caller.plan !== undefined) return policyForPlan(tiers.tierOfPlan(caller.plan), request)
      const plan = tiers.tierOf(caller.subject)
      return plan instanceof Promise ? plan.then((name) => policyForPlan(name, request)) : policyForPlan(plan, request)
    },
    async tierOf({ kind, id }) {
      return kind === 'user' || kind === 'client' ? tiers.tierOf(id) : undefined
    },
    clientPolicyOf: ({ kind, id }) => (kind === 'client' ? policyOfClient(id)?.name : undefined),
    overrideOf: (identifier) => overrides.find(identifier),
    inPlaceOf: (policy, identifier) => overrides.apply(identifier, policy),
    reload(next) {
      limits = limitsFor(
        { ...(declared.attemptLimits ? { attemptLimits: declared.attemptLimits } : {}), ...next },
        rules,
      )
    },
    setOverrides: (next) => overrides.set(next),
    setClientPolicies(clients) {
      const stored = clients.map(({ client, policy }) => [client, policy] as const)
      byClient = new Map([...stored, ...Object.entries(builtIn)])
    },
  }
}

/** The client that sends a request: for its users, for itself, or with an API key of its own. */
function clientOf({ clientId, kind, subject }: Caller): string | undefined {
  return clientId ?? (kind === 'client' ? subject : undefined)
}

/** A request whose plan is looked up. */
interface PlannedRequest {
  readonly caller: Caller
  readonly identifier: Identifier
  readonly rule: RouteRule | undefined
  readonly route: Policy | undefined
}
