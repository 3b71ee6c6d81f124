import { definePolicy, type FailureMode, type Policy, type Rule, tierPolicy } from '@gatehouse/limiter'
import type { PolicyDeclaration, TierDeclaration } from './declaration.ts'
import { unlimitedPlan } from './tier.ts'

/** Every limit the gateway knows, by name. */
export interface Limits {
  readonly tiers: ReadonlyMap<string, Policy>
  readonly policies: ReadonlyMap<string, Policy>
  /** The tier of whoever has none: the one with the smallest quota. */
  readonly lowest: string
}

/** The tiers that the specification illustrates. */
export const defaultTiers: Readonly<Record<string, TierDeclaration>> = {
  free: { rpm: 10, daily: 1_000 },
  pro: { rpm: 100, daily: 100_000 },
}

/**
 * The limits of traffic that has no tier. `anonymous`: whoever shows no credential, by IP address. `identity`: the
 * pages and endpoints of the token service, by IP address. `login`: one account from one address; `login-account`: one
 * account from anywhere, loose so that nobody can lock another out.
 */
export const defaultPolicies: Readonly<Record<string, PolicyDeclaration>> = {
  anonymous: { rpm: 60 },
  identity: { rpm: 600 },
  login: { rpm: 10, failure_mode: 'closed' },
  'login-account': { rpm: 100, failure_mode: 'closed' },
}

/** Policies that guard sign-in: exact, global and closed, whatever a configuration says. */
const securityCritical = new Set(['login', 'login-account'])

export interface LimitsDeclaration {
  readonly tiers?: Readonly<Record<string, TierDeclaration>>
  readonly policies?: Readonly<Record<string, PolicyDeclaration>>
}

/**
 * Reads declared tiers and policies; the default policies stay unless one of their name is declared.
 * @throws RangeError naming the tier or policy and what was expected.
 */
export function limitsFrom(declared: LimitsDeclaration): Limits {
  const tiers = new Map(
    Object.entries(declared.tiers ?? defaultTiers).map(([name, tier]) => [name, tierFrom(name, tier)]),
  )
  const policies = new Map(
    Object.entries({ ...defaultPolicies, ...declared.policies }).map(([name, policy]) => [
      name,
      policyFrom(name, policy),
    ]),
  )
  const [lowest] = [...tiers.values()].sort((a, b) => perMinute(a) - perMinute(b))
  if (lowest === undefined) throw new RangeError('tiers: there must be at least one')
  if (tiers.has(unlimitedPlan)) throw new RangeError(`tiers: "${unlimitedPlan}" is the plan without a limit`)
  return { tiers, policies, lowest: lowest.name }
}

function tierFrom(name: string, tier: TierDeclaration): Policy {
  const { algorithm, daily_algorithm: dailyAlgorithm } = tier
  return tierPolicy(
    name,
    {
      ...(tier.rpm === undefined ? {} : { rpm: tier.rpm }),
      ...(tier.daily === undefined ? {} : { daily: tier.daily }),
    },
    {
      ...(algorithm === undefined ? {} : { algorithm }),
      ...(dailyAlgorithm === undefined ? {} : { dailyAlgorithm }),
      ...manner(tier),
    },
  )
}

function policyFrom(name: string, policy: PolicyDeclaration): Policy {
  if (securityCritical.has(name) && (policy.failure_mode !== 'closed' || policy.mode === 'hybrid'))
    throw new RangeError(`policy "${name}": what guards sign-in is exact and its failure_mode is closed`)
  return definePolicy(name, rulesOf(name, policy), manner(policy))
}

const windows = [
  ['rps', 1_000],
  ['rpm', 60_000],
  ['daily', 86_400_000],
] as const

function rulesOf(name: string, policy: PolicyDeclaration): Rule[] {
  const { algorithm = 'sliding-window', burst, shadow = false } = policy
  const rules: Rule[] = []
  for (const [member, windowMs] of windows) {
    const limit = policy[member]
    if (limit !== undefined) rules.push({ name: `${name}-${member}`, algorithm, limit, windowMs, shadow })
  }
  if (burst !== undefined)
    rules.push({
      name: `${name}-burst`,
      algorithm: 'token-bucket',
      limit: burst.capacity,
      refillPerSecond: burst.refill_per_second,
      shadow,
    })
  return rules
}

interface Manner {
  readonly failure_mode?: FailureMode
  readonly mode?: 'exact' | 'hybrid'
  readonly quota?: 'regional' | 'global'
  readonly shards?: number
}

function manner({ failure_mode: failureMode, mode, quota, shards }: Manner) {
  return {
    ...(failureMode === undefined ? {} : { failureMode }),
    ...(quota === undefined ? {} : { quota }),
    ...(shards === undefined ? {} : { shards }),
    advisory: mode === 'hybrid',
  }
}

function perMinute({ rules }: Policy): number {
  return Math.min(...rules.map(({ limit, windowMs }) => (limit * 60_000) / windowMs))
}
