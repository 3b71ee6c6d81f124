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
 * pages and endpoints of the token service, by IP address.
 */
export const defaultPolicies: Readonly<Record<string, PolicyDeclaration>> = {
  anonymous: { rpm: 60 },
  identity: { rpm: 600 },
}

/** What guards sign-in and what else could be guessed is exact, global and closed, whatever a configuration says. */
const securityCritical = /^(?:login|device-code|reset)(?:-|$)/

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
}

/**
 * Reads declared tiers and policies; the default policies stay unless one of their name is declared.
 * @throws RangeError naming the tier or policy and what was expected.
 */
export function limitsFrom(declared: LimitsDeclaration): Limits {
  const tiers = new Map(
    Object.entries(declared.tiers ?? defaultTiers).map(([name, tier]) => [name, tierFrom(name, tier)]),
  )
  const policies = new Map([
    ...Object.entries(declared.guards ?? {}).map(([name, guard]) => [name, guardFrom(name, guard)] as const),
    ...Object.entries({ ...defaultPolicies, ...declared.policies }).map(
      ([name, policy]) => [name, policyFrom(name, policy)] as const,
    ),
  ])
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
  if (securityCritical.test(name) && (policy.failure_mode !== 'closed' || policy.mode === 'hybrid'))
    throw new RangeError(`policy "${name}": what guards sign-in is exact and its failure_mode is closed`)
  return definePolicy(name, rulesOf(name, policy), manner(policy))
}

function guardFrom(name: string, { limit, windowSeconds }: GuardDeclaration): Policy {
  const failureMode = securityCritical.test(name) ? 'closed' : 'local'
  return definePolicy(name, [{ name, limit, windowMs: windowSeconds * 1_000 }], { failureMode })
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
