import { definePolicy, type FailureMode, type Policy, tierPolicy } from './policy.ts'
import { DeclarationError, type DeclarationPlace, PolicyError, type PolicyFault } from './policy-error.ts'
import type { Rule } from './rule.ts'

/** How much a policy allows, as a configuration file says it. */
export interface LimitsDeclaration {
  /** Requests per second. */
  readonly rps?: number | undefined
  /** Requests per minute. */
  readonly rpm?: number | undefined
  /** Requests per day. */
  readonly daily?: number | undefined
  /** A token bucket. */
  readonly burst?: { readonly capacity: number; readonly refill_per_second: number } | undefined
}

/** A policy as a configuration file says it: `{ rpm: 30, failure_mode: 'open' }`. */
export interface PolicyDeclaration extends LimitsDeclaration {
  /** Limits that count and report, and never reject. */
  readonly shadow?: LimitsDeclaration | undefined
  /** How windows count. Default `sliding-window`. */
  readonly algorithm?: 'sliding-window' | 'fixed-window' | undefined
  /** As `failureMode` of a policy. */
  readonly failure_mode?: FailureMode | undefined
  /** `hybrid` for an advisory policy. Default `exact`. */
  readonly mode?: 'exact' | 'hybrid' | undefined
  /** As `quota` of a policy. */
  readonly quota?: 'regional' | 'global' | undefined
  /** As `shards` of a policy. */
  readonly shards?: number | undefined
  /** As `shared` of a policy. */
  readonly shared?: boolean | undefined
}

/** A tier as a configuration file says it: `{ rpm: 10, daily: 1000 }`. */
export interface TierDeclaration extends Omit<PolicyDeclaration, 'shared'> {
  /** How the daily window counts. Default: as `algorithm`. */
  readonly daily_algorithm?: 'sliding-window' | 'fixed-window' | undefined
}

const windows = [
  ['rps', 1_000],
  ['rpm', 60_000],
  ['daily', 86_400_000],
] as const

/**
 * Defines the policy of a declaration. Its rules are named `search-rpm`, shadow rules `search-shadow-rpm`; keys and
 * violated-policies show these names.
 *
 * @param before rules that count before those of the declaration
 * @throws DeclarationError that names the policy, the member and what was expected
 * @example
 * const search = declaredPolicy('search', { rpm: 30, burst: { capacity: 5, refill_per_second: 1 } })
 */
export function declaredPolicy(name: string, declaration: PolicyDeclaration, before: readonly Rule[] = []): Policy {
  return atPlace({ isTier: false, name }, () =>
    definePolicy(name, [...before, ...declaredRules(name, declaration)], optionsOf(declaration)),
  )
}

/**
 * Defines the tier of a declaration. Its minute and its day have the keys of tiers, which every tier shares; further
 * rules are counted beside them.
 *
 * @throws DeclarationError that names the tier, the member and what was expected
 * @example
 * const free = declaredTier('free', { rpm: 10, daily: 1000, daily_algorithm: 'fixed-window' })
 */
export function declaredTier(name: string, declaration: TierDeclaration): Policy {
  return atPlace({ isTier: true, name }, () => defineTier(name, declaration))
}

function defineTier(name: string, declaration: TierDeclaration): Policy {
  const { rpm, daily, algorithm, daily_algorithm: dailyAlgorithm, rps, burst, shadow } = declaration
  const options = optionsOf(declaration)
  const further = declaredRules('', { rps, burst, shadow, algorithm })
  if (rpm === undefined && daily === undefined) return definePolicy(name, further, options)
  const limits = { ...(rpm === undefined ? {} : { rpm }), ...(daily === undefined ? {} : { daily }) }
  const windowsOfTier = tierPolicy(name, limits, {
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(dailyAlgorithm === undefined ? {} : { dailyAlgorithm }),
    ...options,
  })
  if (further.length === 0) return windowsOfTier
  const { rules } = definePolicy(name, further, options)
  return Object.freeze({ ...windowsOfTier, rules: Object.freeze([...windowsOfTier.rules, ...rules]) })
}

function declaredRules(policy: string, { shadow, algorithm, ...limits }: PolicyDeclaration): Rule[] {
  return [
    ...rulesOf(policy, limits, { algorithm, isShadow: false }),
    ...rulesOf(policy, shadow ?? {}, { algorithm, isShadow: true }),
  ]
}

interface RuleKind {
  readonly algorithm: PolicyDeclaration['algorithm']
  readonly isShadow: boolean
}

function rulesOf(policy: string, limits: LimitsDeclaration, { algorithm, isShadow: shadow }: RuleKind): Rule[] {
  const nameOf = (rule: string) => [policy, shadow ? 'shadow' : '', rule].filter((part) => part !== '').join('-')
  const counted = windows.flatMap(([member, windowMs]): Rule[] => {
    const limit = limits[member]
    if (limit === undefined) return []
    return [{ name: nameOf(member), algorithm: algorithm ?? 'sliding-window', limit, windowMs, shadow }]
  })
  if (limits.burst === undefined) return counted
  const { capacity: limit, refill_per_second: refillPerSecond } = limits.burst
  return [...counted, { name: nameOf('burst'), algorithm: 'token-bucket', limit, refillPerSecond, shadow }]
}

function optionsOf({ failure_mode: failureMode, mode, quota, shards, shared }: PolicyDeclaration) {
  return {
    ...(shared === undefined ? {} : { shared }),
    ...(failureMode === undefined ? {} : { failureMode }),
    ...(quota === undefined ? {} : { quota }),
    ...(shards === undefined ? {} : { shards }),
    advisory: mode === 'hybrid',
  }
}

/** Defines a policy; a fault of it gets its place in the declaration. */
function atPlace(at: Pick<DeclarationPlace, 'isTier' | 'name'>, define: () => Policy): Policy {
  try {
    return define()
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const { fault } = error
    const pointer = pointerOf(fault, at.isTier ? '' : `${at.name}-`)
    throw new DeclarationError(error.message, { ...at, pointer, expected: fault.expected })
  }
}

/** The members of a declaration by those of a policy, and of its bucket by those of a rule. */
const members: Readonly<Record<string, string>> = {
  failureMode: 'failure_mode',
  advisory: 'mode',
  quota: 'quota',
  shards: 'shards',
  algorithm: 'algorithm',
}
const bucketMembers: Readonly<Record<string, string>> = { limit: 'capacity', refillPerSecond: 'refill_per_second' }

/** A rule is named by the policy, `shadow` and its member: see {@link declaredRules}. */
function pointerOf({ rule, member = '' }: PolicyFault, prefix: string): string {
  if (rule === undefined || member === 'algorithm') return member in members ? `/${members[member]}` : ''
  const path = (rule.startsWith(prefix) ? rule.slice(prefix.length) : rule).replace(/^shadow-/, 'shadow/')
  return path.endsWith('burst') ? `/${path}/${bucketMembers[member] ?? 'capacity'}` : `/${path}`
}
