import { everyone } from './key.ts'
import { PolicyError, type PolicyFault } from './policy-error.ts'
import { type CountedRule, createCountedRule, type Rule, type WindowRule } from './rule.ts'

/** What to answer while the store is unavailable: admit all, reject all, or count in this process alone. */
export type FailureMode = 'open' | 'closed' | 'local'

/** Options of {@link definePolicy}. */
export interface PolicyOptions {
  /** What to answer while the store is unavailable. Default `local`. A `closed` policy is exact, global and not sharded. */
  readonly failureMode?: FailureMode
  /** Whether the limit may be counted locally and reconciled (`hybridStore`). Default false: it is counted exactly. */
  readonly advisory?: boolean
  /** Whether each region has its own quota, or all share one. Default `global`. */
  readonly quota?: 'regional' | 'global'
  /** Number of sub-counters into which a `shardedStore` splits each counter: 1 to 64, a divisor of every limit. Default 1. */
  readonly shards?: number
  /** Whether one counter counts all identifiers together, under `rl:<rule>:global:all:…`. Default false. */
  readonly shared?: boolean
  /** Name of the tier, for metrics. Default: the policy's name. */
  readonly tier?: string
}

/**
 * Rules that are checked and counted together, all or nothing. Created by `definePolicy`, `tierPolicy` or
 * `combinePolicies`.
 */
export interface Policy {
  /** Name of the policy. */
  readonly name: string
  /** Name of the tier, for metrics. */
  readonly tier: string
  /** Its rules, at most 8; of a combination at most 24. */
  readonly rules: readonly CountedRule[]
  /** What to answer while the store is unavailable. */
  readonly failureMode: FailureMode
  /** Whether it may be counted locally and reconciled. */
  readonly advisory: boolean
  /** Whether each region has its own quota. */
  readonly quota: 'regional' | 'global'
  /** Sub-counters of each counter. */
  readonly shards: number
  /** Whether all its rules count all identifiers together. */
  readonly shared: boolean
  /** The policies that were combined, whose rules follow one another in `rules`; undefined for a single policy. */
  readonly parts: readonly Policy[] | undefined
}

/** One policy, or several by which a request is counted together. */
export type Policies = Policy | readonly Policy[]

/**
 * Defines a named set of 1 to 8 rules, counted under `rl:<rule>:<kind>:<id>:…`. Define policies once, not for each
 * request.
 *
 * @throws RangeError that names the policy and what was expected
 * @example
 * const upload = definePolicy('upload', [
 *   { name: 'burst', algorithm: 'token-bucket', limit: 20, refillPerSecond: 2 },
 *   { name: 'hourly', limit: 500, windowMs: 3_600_000 },
 * ])
 */
export function definePolicy(name: string, rules: readonly Rule[], options: PolicyOptions = {}): Policy {
  return createPolicy(
    name,
    rules.map((rule) => createCountedRule(rule, { policy: name, subject: options.shared ? everyone : undefined })),
    options,
  )
}

/** The limits of a tier, of which at least one is set. */
export interface TierLimits {
  /** Requests per minute. */
  readonly rpm?: number
  /** Requests per day. */
  readonly daily?: number
}

/** Options of {@link tierPolicy}. */
export interface TierOptions extends PolicyOptions {
  /** How the windows count. Default `sliding-window`. */
  readonly algorithm?: 'sliding-window' | 'fixed-window'
  /** How the daily window counts; `fixed-window` counts by the UTC day. Default: as `algorithm`. */
  readonly dailyAlgorithm?: 'sliding-window' | 'fixed-window'
}

/**
 * Defines the windows of a tier, rpm and daily, counted under `rl:<kind>:<id>:<window_index>` whatever the tier's name:
 * a change of tier resets nothing. The indexes of minutes and of days are far apart, so their keys never collide.
 *
 * @throws RangeError that names the tier and what was expected
 * @example
 * const free = tierPolicy('free', { rpm: 10, daily: 1000 })
 */
export function tierPolicy(name: string, limits: TierLimits, options: TierOptions = {}): Policy {
  const { algorithm = 'sliding-window', dailyAlgorithm = algorithm } = options
  if (options.shared) throw new RangeError(`policy "${name}": a tier counts each identifier and cannot be shared`)
  const rules: WindowRule[] = []
  if (limits.rpm !== undefined) rules.push({ name: 'rpm', algorithm, limit: limits.rpm, windowMs: 60_000 })
  if (limits.daily !== undefined)
    rules.push({ name: 'daily', algorithm: dailyAlgorithm, limit: limits.daily, windowMs: 86_400_000 })
  return createPolicy(
    name,
    rules.map((rule) => createCountedRule(rule, { policy: name, isTier: true })),
    options,
  )
}

function createPolicy(name: string, rules: readonly CountedRule[], options: PolicyOptions): Policy {
  const { failureMode = 'local', advisory = false, quota = 'global', shards = 1, shared = false, tier = name } = options
  const policy = { name, tier, rules: Object.freeze([...rules]), failureMode, advisory, quota, shards, shared }
  const fault = findFault(policy)
  if (fault !== undefined) throw new PolicyError(`policy "${name}": ${fault.detail ?? fault.expected}`, fault)
  return Object.freeze({ ...policy, parts: undefined })
}

/** What is wrong with a policy, and in words that name the rule; undefined for a valid one. */
function findFault(policy: Omit<Policy, 'parts'>): (PolicyFault & { readonly detail?: string }) | undefined {
  const { rules, failureMode, shards } = policy
  if (rules.length === 0 || rules.length > 8)
    return { expected: `a policy must have 1 to 8 rules, got ${rules.length}` }
  if (new Set(rules.map((rule) => rule.name)).size < rules.length) return { expected: 'rule names must be unique' }
  if (!['open', 'closed', 'local'].includes(failureMode))
    return { member: 'failureMode', expected: `failureMode must be open, closed or local, got "${failureMode}"` }
  const contradiction = failureMode === 'closed' ? findContradiction(policy) : undefined
  if (contradiction !== undefined) return contradiction
  if (!Number.isInteger(shards) || shards < 1 || shards > 64)
    return { member: 'shards', expected: `shards must be an integer from 1 to 64, got ${shards}` }
  const uneven = rules.find((rule) => rule.limit % shards !== 0)
  if (uneven === undefined) return undefined
  const expected = `must be a multiple of ${shards} shards`
  const detail = `the limit ${uneven.limit} of rule "${uneven.name}" ${expected}`
  return { rule: uneven.name, member: 'limit', expected, detail }
}

/** What a policy that fails closed cannot be. */
function findContradiction({ advisory, quota, shards }: Omit<Policy, 'parts'>): PolicyFault | undefined {
  if (advisory) return { member: 'advisory', expected: 'a policy that fails closed is exact and cannot be advisory' }
  if (quota === 'regional') return { member: 'quota', expected: 'a policy that fails closed must have a global quota' }
  if (shards !== 1) return { member: 'shards', expected: 'a policy that fails closed cannot have shards' }
  return undefined
}

/** Whether a policy can reject: not all its rules are in shadow. */
export const hasEnforcedRule = ({ rules }: Policy): boolean => rules.some(({ shadow }) => !shadow)

/** Lifetime of a policy's longest counter, in milliseconds. */
export function retentionMs({ rules }: Policy): number {
  return Math.max(...rules.map(({ expiryMs }) => expiryMs))
}
