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
export function guardsSignIn({ name }: Policy): boolean {
  return securityCritical.test(name)
}

/** A guard as a service asks for it: so many tries in so many seconds. */
export interface GuardDeclaration {
  readonly limit: number
  readonly windowSeconds: number
}

export interface LimitsDeclaration {
  /** What the services guard by themselves; a declared policy of the same name goes before. */
  readonly guards?: Readonly<Record<string, GuardDeclaration>>
  readonly tiers?: Readonly<Record<string, TierDeclaration>>
  readonly policies?: Readonly<Record<string, PolicyDeclaration>>
  /** The policy by which every request is counted too, but those of routes with the policy `none`. */
  readonly globalPolicy?: string
}

/**
 * Reads declared tiers and policies; the default policies stay unless one of their name is declared.
 * @throws RangeError naming the tier or policy and what was expected.
 */
export function limitsFrom(declared: LimitsDeclaration): Limits {
  const tiers = new Map(
    Object.entries(declared.tiers ?? defaultTiers).map(([name, tier]) => [name, tierFrom(name, tier)]),
  )
  const { guards = {} } = declared
  const named = Object.entries({ ...defaultPolicies, ...declared.policies })
  const policies = new Map([
    ...Object.entries(guards).map(([name, guard]) => [name, guardFrom(name, guard)] as const),
    ...named.map(([name, policy]) => [name, policyFrom(name, policy, guards[name])] as const),
  ])
  const [lowest] = [...tiers.values()].sort((a, b) => perMinute(a) - perMinute(b))
  if (lowest === undefined) throw new RangeError('tiers: there must be at least one')
  refuseMixed(tiers)
  if (tiers.has(unlimitedPlan)) throw new RangeError(`tiers: "${unlimitedPlan}" is the plan without a limit`)
  return { tiers, policies, lowest: lowest.name, global: globalFrom(declared.globalPolicy, policies) }
}

function globalFrom(name: string | undefined, policies: ReadonlyMap<string, Policy>): Policy | undefined {
  if (name === undefined) return undefined
  const policy = policies.get(name)
  if (policy) return policy
  throw new RangeError(`global_policy: there is no policy "${name}"; there are ${[...policies.keys()].join(', ')}`)
}

/** Tiers share their counters, so that a change of tier resets nothing: all have to be counted in the same places. */
function refuseMixed(tiers: ReadonlyMap<string, Policy>): void {
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
function tierFrom(name: string, tier: TierDeclaration): Policy {
  const { rpm, daily, algorithm, daily_algorithm: dailyAlgorithm, rps, burst, shadow } = tier
  const options = manner(tier)
  const further = rulesOf('', { rps, burst, shadow, algorithm })
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
function policyFrom(name: string, declared: PolicyDeclaration, guard: GuardDeclaration | undefined): Policy {
  const builtIn = securityCritical.test(name) ? { failure_mode: 'closed' as const } : {}
  const policy = { ...builtIn, ...(limits(declared) ? {} : defaultPolicies[name]), ...declared }
  if (securityCritical.test(name) && (policy.failure_mode !== 'closed' || policy.mode === 'hybrid'))
    throw new RangeError(`policy "${name}": what guards sign-in is exact and its failure_mode is closed`)
  const kept = guard && !limits(declared) ? guardRules(name, guard) : []
  return definePolicy(name, [...kept, ...rulesOf(name, policy)], manner(policy))
}

/** Whether a declaration says how much; one that does replaces how much the built-in policy allows. */
const limits = ({ rps, rpm, daily, burst }: PolicyDeclaration): boolean =>
  [rps, rpm, daily, burst].some((limit) => limit !== undefined)

function guardFrom(name: string, guard: GuardDeclaration): Policy {
  const failureMode = securityCritical.test(name) ? 'closed' : 'local'
  return definePolicy(name, guardRules(name, guard), { failureMode })
}

function guardRules(name: string, { limit, windowSeconds }: GuardDeclaration): Rule[] {
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
function rulesOf(policy: string, { burst, shadow, algorithm = 'sliding-window', ...limits }: RulesDeclaration): Rule[] {
  const named = (rule: string) => (policy === '' ? rule : `${policy}-${rule}`)
  const windowRules = (given: RulesDeclaration, trial: boolean): Rule[] =>
    windows.flatMap(([member, windowMs]) => {
      const limit = given[member]
      if (limit === undefined) return []
      return [{ name: named(trial ? `shadow-${member}` : member), algorithm, limit, windowMs, shadow: trial }]
    })
  const bucket: Rule[] = burst
    ? [
        {
          name: named('burst'),
          algorithm: 'token-bucket',
          limit: burst.capacity,
          refillPerSecond: burst.refill_per_second,
        },
      ]
    : []
  return [...windowRules(limits, false), ...bucket, ...windowRules(shadow ?? {}, true)]
}

interface Manner {
  readonly failure_mode?: FailureMode
  readonly mode?: 'exact' | 'hybrid'
  readonly quota?: 'regional' | 'global'
  readonly shards?: number
  readonly shared?: boolean
}

function manner({ failure_mode: failureMode, mode, quota, shards, shared }: Manner) {
  return {
    ...(shared === undefined ? {} : { shared }),
    ...(failureMode === undefined ? {} : { failureMode }),
    ...(quota === undefined ? {} : { quota }),
    ...(shards === undefined ? {} : { shards }),
    advisory: mode === 'hybrid',
  }
}

function perMinute({ rules }: Policy): number {
  return Math.min(...rules.filter(({ shadow }) => !shadow).map(({ limit, windowMs }) => (limit * 60_000) / windowMs))
}
