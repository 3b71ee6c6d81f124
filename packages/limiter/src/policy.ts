import { everyone } from './key.ts'
import { type CountedRule, createCountedRule, type Rule, type WindowRule } from './rule.ts'

/** What to answer while the store is silent: allow all, reject all, or count in this process alone. */
export type FailureMode = 'open' | 'closed' | 'local'

export interface PolicyOptions {
  /** Default `local`. A `closed` policy is exact, global and in one counter. */
  readonly failureMode?: FailureMode
  /** An advisory limit may be counted locally and reconciled (hybrid). Default false: exact. */
  readonly advisory?: boolean
  /** Whether the quota is the region's own or shared by all regions. Default `global`. */
  readonly quota?: 'regional' | 'global'
  /** Splits each counter of a hot key into so many sub-counters, when the store is a `shardedStore`. Default 1. */
  readonly shards?: number
  /** One counter for all identifiers together, under `rl:<rule>:global:all:…`. Default false: one for each. */
  readonly shared?: boolean
  /** Name of the tier, for metrics. Default: the policy's name. */
  readonly tier?: string
}

/** Rules that are checked and taken together, all or nothing. Made by `definePolicy`, `tierPolicy` or `combinePolicies`. */
export interface Policy {
  readonly name: string
  readonly tier: string
  readonly rules: readonly CountedRule[]
  readonly failureMode: FailureMode
  readonly advisory: boolean
  readonly quota: 'regional' | 'global'
  readonly shards: number
  /** All rules count everyone together. */
  readonly shared: boolean
  /** The policies it was combined of, whose rules follow one another in `rules`; undefined for one by itself. */
  readonly parts: readonly Policy[] | undefined
}

/** One policy, or several by which a request is counted together. */
export type Policies = Policy | readonly Policy[]

/**
 * A named set of rules, counted under `rl:<rule>:<kind>:<id>:…`.
 * @throws RangeError naming the policy and what was expected
 */
export function definePolicy(name: string, rules: readonly Rule[], options: PolicyOptions = {}): Policy {
  return createPolicy(
    name,
    rules.map((rule) => createCountedRule(rule, { policy: name, subject: options.shared ? everyone : undefined })),
    options,
  )
}

export interface TierLimits {
  /** Requests per minute. */
  readonly rpm?: number
  /** Requests per day. */
  readonly daily?: number
}

export interface TierOptions extends PolicyOptions {
  readonly algorithm?: 'sliding-window' | 'fixed-window'
  /** `fixed-window` counts by the UTC day. Default: as `algorithm`. */
  readonly dailyAlgorithm?: 'sliding-window' | 'fixed-window'
}

/**
 * A tier's windows, rpm and daily, counted under `rl:<kind>:<id>:<window_index>` whatever the tier's name: a change of
 * tier resets nothing. The indexes of a minute and of a day are far apart, so the two windows never meet in one key.
 * @throws RangeError naming the tier and what was expected
 */
export function tierPolicy(name: string, limits: TierLimits, options: TierOptions = {}): Policy {
  const { algorithm = 'sliding-window', dailyAlgorithm = algorithm } = options
  if (options.shared) throw new RangeError(`policy "${name}": a tier counts each identifier, so it cannot be shared`)
  const rules: WindowRule[] = []
  if (limits.rpm !== undefined) rules.push({ name: 'rpm', algorithm, limit: limits.rpm, windowMs: 60_000 })
  if (limits.daily !== undefined)
    rules.push({ name: 'daily', algorithm: dailyAlgorithm, limit: limits.daily, windowMs: 86_400_000 })
  return createPolicy(
    name,
    rules.map((rule) => createCountedRule(rule, { policy: name, tiered: true })),
    options,
  )
}

function createPolicy(name: string, rules: readonly CountedRule[], options: PolicyOptions): Policy {
  const { failureMode = 'local', advisory = false, quota = 'global', shards = 1, shared = false, tier = name } = options
  const fault = (what: string): RangeError => new RangeError(`policy "${name}": ${what}`)
  if (rules.length === 0 || rules.length > 8) throw fault(`has 1 to 8 rules, not ${rules.length}`)
  if (new Set(rules.map((rule) => rule.name)).size < rules.length) throw fault('two rules have one name')
  if (!['open', 'closed', 'local'].includes(failureMode))
    throw fault(`failureMode is open, closed or local, not "${failureMode}"`)
  if (failureMode === 'closed' && advisory) throw fault('what fails closed is exact, so it cannot be advisory')
  if (failureMode === 'closed' && quota === 'regional') throw fault('what fails closed has a global quota')
  if (failureMode === 'closed' && shards !== 1)
    throw fault('what fails closed is compared with what is remembered, so it has no shards')
  if (!Number.isInteger(shards) || shards < 1 || shards > 64)
    throw fault(`shards is a whole number from 1 to 64, not ${shards}`)
  const uneven = rules.find((rule) => rule.limit % shards !== 0)
  if (uneven) throw fault(`the limit ${uneven.limit} of rule "${uneven.name}" is no multiple of ${shards} shards`)
  const frozen = Object.freeze([...rules])
  return Object.freeze({ name, tier, rules: frozen, failureMode, advisory, quota, shards, shared, parts: undefined })
}

/** How long the longest of a policy's counters is kept, in milliseconds: so long may anybody remember what it was. */
export function retentionMs({ rules }: Policy): number {
  return Math.max(...rules.map(({ expiryMs }) => expiryMs))
}
