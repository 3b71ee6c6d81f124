import { definePolicy, type FailureMode, type Policy, type Rule, tierPolicy } from '@gatehouse/limiter'
import { unlimitedPlan } from '../model/plan.ts'
import type { PolicyDeclaration, TierDeclaration } from './declaration.ts'

/** Every limit the gateway knows, by name. */
export interface Limits {
  readonly tiers: ReadonlyMap<string, Policy>
  readonly policies: ReadonlyMap<string, Policy>
  /** The tier of whoever has none: the one with the smallest quota. */
  readonly lowest: string
  /** What every limited request is counted by too. */
  readonly global: Policy | undefined
}

/** The tiers that the specification illustrates. */
export const defaultTiers: Readonly<Record<string, TierDeclaration>> = {
  free: { rpm: 10, daily: 1_000 },
  pro: { rpm: 100, daily: 100_000 },
}

/**
 * The limits of traffic that has no tier. `anonymous`: whoever shows no credential, by IP address. `identity`: the
 * pages and endpoints of the token service, by IP address. `webhooks`: what providers report, by IP address.
 * `links`: what mails lead to, by IP address: mail services ask for many from one. `bad-credentials`: forged tokens and unknown API keys, by IP address, in this process; beyond it no unknown credential
 * from there is looked at. `producer`: events sent by callers with write:notifications, by caller, in place of their tier.
 */
export const defaultPolicies: Readonly<Record<string, PolicyDeclaration>> = {
  anonymous: { rpm: 60 },
  identity: { rpm: 600 },
  webhooks: { rpm: 30_000 },
  links: { rpm: 6_000 },
  'bad-credentials': { rpm: 60 },
  producer: { rpm: 60_000 },
}

/** The policy by which forged tokens and unknown API keys are counted. */
export const badCredentials = 'bad-credentials'

/** The policy of callers that send events. */
export const producerPolicy = 'producer'

/** What limits sign-in and what else could be guessed is exact, global and closed, whatever a configuration says. */
const securityCritical = /^(?:login|device-code|reset|client-authentication)(?:-|$)/

/** Whether a policy stands between somebody who guesses and an account. */
export function isSignInPolicy({ name }: Policy): boolean {
  return securityCritical.test(name)
}

/** A limit on attempts that a service declares: how many attempts in how many seconds. */
export interface AttemptLimitDeclaration {
  readonly limit: number
  readonly windowSeconds: number
}

export interface LimitsDeclaration {
  /** Attempt limits of the services, by policy name. A declared policy of the same name overrides its members. */
  readonly attemptLimits?: Readonly<Record<string, AttemptLimitDeclaration>>
  readonly tiers?: Readonly<Record<string, TierDeclaration>>
  readonly policies?: Readonly<Record<string, PolicyDeclaration>>
  /** The policy by which every request is counted too, but those of routes with the policy `none`. */
  readonly globalPolicy?: string
}

/**
 * Reads declared tiers and policies; the default policies stay unless one of their name is declared.
 * @throws RangeError naming the tier or policy and what was expected.
 */
export function defineLimits(declared: LimitsDeclaration): Limits {
  const tiers = new Map(
    Object.entries(declared.tiers ?? defaultTiers).map(([name, tier]) => [name, defineTier(name, tier)]),
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
  if (tiers.has(unlimitedPlan)) throw new RangeError(`tiers: "${unlimitedPlan}" is the plan without a limit`)
  return { tiers, policies, lowest: lowest.name, global: findGlobalPolicy(declared.globalPolicy, policies) }
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

/** The windows named by the specification have keys of their own; further rules are counted beside them. */
function defineTier(name: string, tier: TierDeclaration): Policy {
  const { rpm, daily, algorithm, daily_algorithm: dailyAlgorithm, rps, burst, shadow } = tier
  const options = policyOptions(tier)
  const further = defineRules('', { rps, burst, shadow, algorithm })
  if (rpm === undefined && daily === undefined) return definePolicy(name, further, options)
  const windows = tierPolicy(
    name,
    { ...(rpm === undefined ? {} : { rpm }), ...(daily === undefined ? {} : { daily }) },
    {
      ...(algorithm === undefined ? {} : { algorithm }),
      ...(dailyAlgorithm === undefined ? {} : { dailyAlgorithm }),
      ...options,
    },
  )
  if (further.length === 0) return windows
  const { rules } = definePolicy(name, further, options)
  return Object.freeze({ ...windows, rules: Object.freeze([...windows.rules, ...rules]) })
}

/** Members that are not declared stay those of the built-in policy of the name. */
function defineRoutePolicy(
  name: string,
  declared: PolicyDeclaration,
  attemptLimit: AttemptLimitDeclaration | undefined,
): Policy {
  const builtIn = securityCritical.test(name) ? { failure_mode: 'closed' as const } : {}
  const policy = { ...builtIn, ...(hasLimit(declared) ? {} : defaultPolicies[name]), ...declared }
  if (securityCritical.test(name) && (policy.failure_mode !== 'closed' || policy.mode === 'hybrid'))
    throw new RangeError(`policy "${name}": a sign-in limit is exact and its failure_mode is closed`)
  const attemptLimitRules = attemptLimit && !hasLimit(declared) ? attemptRules(name, attemptLimit) : []
  return definePolicy(name, [...attemptLimitRules, ...defineRules(name, policy)], policyOptions(policy))
}

/** Whether a declaration says how much; one that does replaces how much the built-in policy allows. */
const hasLimit = ({ rps, rpm, daily, burst }: PolicyDeclaration): boolean =>
  [rps, rpm, daily, burst].some((limit) => limit !== undefined)

function defineAttemptLimit(name: string, attemptLimit: AttemptLimitDeclaration): Policy {
  const failureMode = securityCritical.test(name) ? 'closed' : 'local'
  return definePolicy(name, attemptRules(name, attemptLimit), { failureMode })
}

function attemptRules(name: string, { limit, windowSeconds }: AttemptLimitDeclaration): Rule[] {
  return [{ name, limit, windowMs: windowSeconds * 1_000 }]
}

const windows = [
  ['rps', 1_000],
  ['rpm', 60_000],
  ['daily', 86_400_000],
] as const

interface RulesDeclaration {
  readonly rps?: number | undefined
  readonly rpm?: number | undefined
  readonly daily?: number | undefined
  readonly burst?: { readonly capacity: number; readonly refill_per_second: number } | undefined
  readonly shadow?: Omit<RulesDeclaration, 'burst' | 'shadow' | 'algorithm'> | undefined
  readonly algorithm?: 'sliding-window' | 'fixed-window' | undefined
}

/** Rules are named `search-rpm`, those on trial `search-shadow-rpm`: so they stand in keys and in violated-policies. */
function defineRules(
  policy: string,
  { burst, shadow, algorithm = 'sliding-window', ...limits }: RulesDeclaration,
): Rule[] {
  const ruleName = (rule: string) => (policy === '' ? rule : `${policy}-${rule}`)
  const windowRules = (declared: RulesDeclaration, shadow: boolean): Rule[] =>
    windows.flatMap(([member, windowMs]) => {
      const limit = declared[member]
      if (limit === undefined) return []
      return [{ name: ruleName(shadow ? `shadow-${member}` : member), algorithm, limit, windowMs, shadow: shadow }]
    })
  const bucket: Rule[] = burst
    ? [
        {
          name: ruleName('burst'),
          algorithm: 'token-bucket',
          limit: burst.capacity,
          refillPerSecond: burst.refill_per_second,
        },
      ]
    : []
  return [...windowRules(limits, false), ...bucket, ...windowRules(shadow ?? {}, true)]
}

interface PolicyOptionsDeclaration {
  readonly failure_mode?: FailureMode
  readonly mode?: 'exact' | 'hybrid'
  readonly quota?: 'regional' | 'global'
  readonly shards?: number
  readonly shared?: boolean
}

function policyOptions({ failure_mode: failureMode, mode, quota, shards, shared }: PolicyOptionsDeclaration) {
  return {
    ...(shared === undefined ? {} : { shared }),
    ...(failureMode === undefined ? {} : { failureMode }),
    ...(quota === undefined ? {} : { quota }),
    ...(shards === undefined ? {} : { shards }),
    advisory: mode === 'hybrid',
  }
}

function requestsPerMinute({ rules }: Policy): number {
  return Math.min(...rules.filter(({ shadow }) => !shadow).map(({ limit, windowMs }) => (limit * 60_000) / windowMs))
}
