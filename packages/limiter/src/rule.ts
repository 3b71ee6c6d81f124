import type { Identifier } from './key.ts'
import { PolicyError } from './policy-error.ts'

/** How a rule counts: a window counter that looks back, one that does not, or a bucket that refills. */
export type Algorithm = 'sliding-window' | 'fixed-window' | 'token-bucket'

interface RuleBase {
  /** 1 to 64 characters. Names the rule in decisions, headers, problem details and, except in tiers, in its keys. */
  readonly name: string
  /** Requests in a window, or the capacity of a bucket: an integer from 1 to 2,147,483,647. */
  readonly limit: number
  /** A shadow rule counts and reports, and never rejects. Default false. */
  readonly shadow?: boolean
}

/** At most `limit` requests in a window. */
export interface WindowRule extends RuleBase {
  /** Default: `sliding-window`. */
  readonly algorithm?: 'sliding-window' | 'fixed-window'
  /** Length of the window: an integer from 1,000 (a second) to 31,622,400,000 (366 days). */
  readonly windowMs: number
}

/** A bucket of `limit` tokens that refills steadily; a request takes as many tokens as it costs. */
export interface BucketRule extends RuleBase {
  readonly algorithm: 'token-bucket'
  /** Tokens per second, above 0. An empty bucket must fill within 366 days. */
  readonly refillPerSecond: number
}

/** One limit of a policy. */
export type Rule = WindowRule | BucketRule

/** The policy that a rule belongs to, and whom the rule counts. */
export interface RuleOwner {
  /** The policy's name. */
  readonly policy: string
  /** Whether the rule is one of a tier's windows, whose keys contain no rule name. */
  readonly isTier?: boolean
  /** The identifier that is counted for every request. Default: the caller's. */
  readonly subject?: Identifier | undefined
}

/** A rule after validation, with every number computed. */
export interface CountedRule {
  /** Name of the rule. */
  readonly name: string
  /** Name of the policy that defined it. */
  readonly policy: string
  /** The identifier that is counted for every request; undefined for the caller's. */
  readonly subject: Identifier | undefined
  /** How it counts. */
  readonly algorithm: Algorithm
  /** Requests in a window, or the capacity of the bucket. */
  readonly limit: number
  /** Length of the window; for a bucket the time in which an empty one fills. */
  readonly windowMs: number
  /** Tokens per millisecond; 0 for windows. */
  readonly refillPerMs: number
  /** Lifetime of its counter after it was created or, for a bucket, written last. */
  readonly expiryMs: number
  /** Whether it only reports. */
  readonly shadow: boolean
  /** '' for the rules of a tier, whose keys contain no rule name; else the name, percent-encoded. */
  readonly scope: string
  /** Rules of equal family and identifier share one counter, whatever their limits: a change of tier resets nothing. */
  readonly family: string
}

const minWindowMs = 1000
const maxWindowMs = 366 * 86_400_000
/** The maximum of a limit, and of the units that are acquired or granted at a time. */
export const maxLimit = 2 ** 31 - 1
const minBucketExpiryMs = 60_000

/**
 * Validates a rule and computes its numbers.
 *
 * @throws RangeError that names the rule and what was expected
 */
export function createCountedRule(rule: Rule, owner: RuleOwner): CountedRule {
  if (rule.name === '' || rule.name.length > 64)
    throw new RangeError(`a rule name must have 1 to 64 characters, got "${rule.name}"`)
  expectInteger(rule.name, 'limit', rule.limit, [1, maxLimit])
  return rule.algorithm === 'token-bucket' ? createBucketRule(rule, owner) : createWindowRule(rule, owner)
}

function createWindowRule(rule: WindowRule, { policy, isTier = false, subject }: RuleOwner): CountedRule {
  const { name, limit, windowMs, algorithm = 'sliding-window', shadow = false } = rule
  if (algorithm !== 'sliding-window' && algorithm !== 'fixed-window')
    throw faultOf(name, 'algorithm', `must be sliding-window, fixed-window or token-bucket, got "${algorithm}"`)
  expectInteger(name, 'windowMs', windowMs, [minWindowMs, maxWindowMs])
  const scope = isTier ? '' : encodeURIComponent(name)
  const family = `${scope} ${windowMs}`
  const expiryMs = 2 * windowMs
  return { name, policy, subject, algorithm, limit, windowMs, refillPerMs: 0, expiryMs, shadow, scope, family }
}

/** State expires after 60 seconds, or when the bucket is full if that takes longer: earlier expiry would fill it early. */
function createBucketRule(rule: BucketRule, { policy, subject }: RuleOwner): CountedRule {
  const { name, algorithm, limit, refillPerSecond, shadow = false } = rule
  if (!(refillPerSecond > 0 && refillPerSecond <= maxLimit))
    throw faultOf(name, 'refillPerSecond', `must be above 0, got ${refillPerSecond}`)
  const refillPerMs = refillPerSecond / 1000
  const windowMs = Math.ceil(limit / refillPerMs)
  if (windowMs > maxWindowMs) {
    const expected = 'the bucket must fill within a year'
    throw new PolicyError(`rule "${name}": ${expected}`, { rule: name, member: 'refillPerSecond', expected })
  }
  const expiryMs = Math.max(minBucketExpiryMs, windowMs)
  const scope = encodeURIComponent(name)
  const family = `${scope} bucket`
  return { name, policy, subject, algorithm, limit, windowMs, refillPerMs, expiryMs, shadow, scope, family }
}

function expectInteger(rule: string, member: string, value: number, [min, max]: readonly [number, number]): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw faultOf(rule, member, `must be an integer from ${min} to ${max}, got ${value}`)
}

function faultOf(rule: string, member: string, expected: string): PolicyError {
  return new PolicyError(`rule "${rule}": ${member} ${expected}`, { rule, member, expected })
}
