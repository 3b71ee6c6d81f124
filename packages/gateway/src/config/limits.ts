import { declaredPolicy, declaredTier, definePolicy, type Policy } from '@gatehouse/limiter'
import { unlimitedPlan } from '../model/plan.ts'
import { defaultPolicies, defaultTiers } from './default-limits.ts'
import type { PolicyDeclaration, TierDeclaration } from './limit-declaration.ts'
import { type AttemptLimitDeclaration, attemptRules, requestsPerMinute } from './policy-rules.ts'

/** Every limit of the gateway, by name. */
export interface Limits {
  readonly tiers: ReadonlyMap<string, Policy>
  readonly policies: ReadonlyMap<string, Policy>
  /** The tier of callers without one: the tier with the smallest quota. */
  readonly lowest: string
  /** The policy that every limited request counts by as well. */
  readonly global: Policy | undefined
  /** The names of the policies that limit attempts: what they count is given back by owners alone. */
  readonly attempts: ReadonlySet<string>
}

/** The limits of a configuration. */
export interface LimitsDeclaration {
  /** Attempt limits of the services, by policy name. A declared policy of the same name overrides its members. */
  readonly attemptLimits?: Readonly<Record<string, AttemptLimitDeclaration>>
  /** Tiers by the name of their plan. Default: `free` and `pro`. */
  readonly tiers?: Readonly<Record<string, TierDeclaration>>
  /** Policies by name. The default policies stay unless one of their name is declared. */
  readonly policies?: Readonly<Record<string, PolicyDeclaration>>
  /** The policy that every request counts by as well, except on routes with the policy `none`. */
  readonly globalPolicy?: string
}

/** Words that stand in the place of a name in the paths of the API. */
const reservedNames = new Set(['callers', 'overrides'])

function refuseReserved(names: readonly string[]): void {
  const name = names.find((one) => reservedNames.has(one))
  if (name !== undefined)
    throw new RangeError(`"${name}" is no name for a tier or policy: the API has a path of that name`)
}

/**
 * Builds the limits of a configuration.
 * @throws RangeError naming the tier or policy and what was expected
 */
export function defineLimits(declared: LimitsDeclaration): Limits {
  const tiers = new Map(
    Object.entries(declared.tiers ?? defaultTiers).map(([name, tier]) => [name, declaredTier(name, tier)]),
  )
  const { attemptLimits = {} } = declared
  const declaredPolicies = Object.entries({ ...defaultPolicies, ...declared.policies })
  const policies = new Map([
    ...Object.entries(attemptLimits).map(
      ([name, attemptLimit]) => [name, defineAttemptLimit(name, attemptLimit)] as const,
    ),
    ...declaredPolicies.map(([name, policy]) => [name, defineRoutePolicy(name, policy, attemptLimits[name])] as const),
  ])
  const [lowest] = [...tiers.values()].sort((a, b) => requestsPerMinute(a) - requestsPerMinute(b))
  if (lowest === undefined) throw new RangeError('tiers: there must be at least one')
  refuseMixedTiers(tiers)
  refuseReserved([...tiers.keys(), ...policies.keys()])
  if (tiers.has(unlimitedPlan)) throw new RangeError(`tiers: "${unlimitedPlan}" is the plan without a limit`)
  const global = findGlobalPolicy(declared.globalPolicy, policies)
  return { tiers, policies, lowest: lowest.name, global, attempts: new Set(Object.keys(attemptLimits)) }
}

function findGlobalPolicy(name: string | undefined, policies: ReadonlyMap<string, Policy>): Policy | undefined {
  if (name === undefined) return undefined
  const policy = policies.get(name)
  if (policy) return policy
  throw new RangeError(`global_policy: there is no policy "${name}"; there are ${[...policies.keys()].join(', ')}`)
}

/** Tiers share their counters, so that a change of tier resets nothing: all have to be counted in the same places. */
function refuseMixedTiers(tiers: ReadonlyMap<string, Policy>): void {
  const [first, ...others] = tiers.values()
  for (const member of ['shards', 'quota'] as const) {
    const other = others.find((tier) => tier[member] !== first?.[member])
    if (first && other)
      throw new RangeError(
        `tiers: "${other.name}" has ${member} ${other[member]} and "${first.name}" ${first[member]}; all tiers need the same, or a change of tier would reset the counts`,
      )
  }
}

/** Members that are not declared stay those of the built-in policy of the name. */
function defineRoutePolicy(
  name: string,
  declared: PolicyDeclaration,
  attemptLimit: AttemptLimitDeclaration | undefined,
): Policy {
  const builtIn = attemptLimit === undefined ? {} : { failure_mode: failureModeOf(attemptLimit) }
  const policy = { ...builtIn, ...(hasLimit(declared) ? {} : defaultPolicies[name]), ...declared }
  const isExact = builtIn.failure_mode === 'closed'
  if (isExact && (policy.failure_mode !== 'closed' || policy.mode === 'hybrid'))
    throw new RangeError(`policy "${name}": a limit that stops guessing is exact and its failure_mode is closed`)
  const attemptLimitRules = attemptLimit && !hasLimit(declared) ? attemptRules(name, attemptLimit) : []
  return declaredPolicy(name, policy, attemptLimitRules)
}

/** Whether a declaration says how much; one that does replaces how much the built-in policy allows. */
export function hasLimit({ rps, rpm, daily, burst }: PolicyDeclaration): boolean {
  return [rps, rpm, daily, burst].some((limit) => limit !== undefined)
}

function defineAttemptLimit(name: string, attemptLimit: AttemptLimitDeclaration): Policy {
  return definePolicy(name, attemptRules(name, attemptLimit), { failureMode: failureModeOf(attemptLimit) })
}

/** Limits that stop guessing are exact, global and fail closed. No configuration changes that. */
function failureModeOf({ failureMode }: AttemptLimitDeclaration): 'closed' | 'local' {
  return failureMode ?? 'closed'
}
