import type { Identifier } from './key.ts'

export type Algorithm = 'sliding-window' | 'fixed-window' | 'token-bucket'

interface RuleBase {
  /** Names the rule in decisions, headers, problem bodies and, unless it belongs to a tier, in its keys. */
  readonly name: string
  /** Requests in a window; for a token bucket its capacity. */
  readonly limit: number
  /** A shadow rule counts and reports but never rejects. */
  readonly shadow?: boolean
}

/** So many requests in so many milliseconds. */
export interface WindowRule extends RuleBase {
  /** Default: `sliding-window`. */
  readonly algorithm?: 'sliding-window' | 'fixed-window'
  readonly windowMs: number
}

/** A bucket of `limit` tokens that refills steadily. */
export interface BucketRule extends RuleBase {
  readonly algorithm: 'token-bucket'
  readonly refillPerSecond: number
}

export type Rule = WindowRule | BucketRule

/** Whom a rule belongs to, and whom it counts. */
export interface RuleOwner {
  /** The policy's name. */
  readonly policy: string
  /** Whether the rule is one of a tier's windows, whose keys carry no rule name. */
  readonly tiered?: boolean
  /** Who is counted whoever makes the request; left out: whoever makes it. */
  readonly subject?: Identifier | undefined
}

/** A rule as it is counted: checked, with every number worked out. */
export interface CountedRule {
  readonly name: string
  /** Name of the policy that it came with. */
  readonly policy: string
  /** Who is counted whoever makes the request; undefined: whoever makes it. */
  readonly subject: Identifier | undefined
  readonly algorithm: Algorithm
  readonly limit: number
  /** The window; for a token bucket the time in which an empty one fills. */
  readonly windowMs: number
  /** Tokens per millisecond; 0 for windows. */
  readonly refillPerMs: number
  /** How long its counter is kept after the last time it was created or, for a bucket, written. */
  readonly expiryMs: number
  readonly shadow: boolean
  /** '' for a tier's rules, whose keys carry no rule name; else the name, percent-encoded. */
  readonly scope: string
  /** Rules of equal family and identifier share one counter, whatever their limits: a tier change resets nothing. */
  readonly family: string
}

const minWindowMs = 1000
const maxWindowMs = 366 * 86_400_000
const maxLimit = 2 ** 31 - 1
const minBucketExpiryMs = 60_000

/**
 * Checks a rule and works its numbers out.
 * @throws RangeError naming the rule and what was expected
 */
export function createCountedRule(rule: Rule, owner: RuleOwner): CountedRule {
  if (rule.name === '' || rule.name.length > 64)
    throw new RangeError(`a rule's name has 1 to 64 characters, not "${rule.name}"`)
  expectInteger(rule.name, 'limit', rule.limit, 1, maxLimit)
  return rule.algorithm === 'token-bucket' ? countBucketRule(rule, owner) : countWindowRule(rule, owner)
}

function countWindowRule(rule: WindowRule, { policy, tiered = false, subject }: RuleOwner): CountedRule {
  const { name, limit, windowMs, algorithm = 'sliding-window', shadow = false } = rule
  if (algorithm !== 'sliding-window' && algorithm !== 'fixed-window')
    throw new RangeError(
      `rule "${name}": algorithm is sliding-window, fixed-window or token-bucket, not "${algorithm}"`,
    )
  expectInteger(name, 'windowMs', windowMs, minWindowMs, maxWindowMs)
  const scope = tiered ? '' : encodeURIComponent(name)
  const family = `${scope} ${windowMs}`
  const expiryMs = 2 * windowMs
  return { name, policy, subject, algorithm, limit, windowMs, refillPerMs: 0, expiryMs, shadow, scope, family }
}

/** State expires after 60 seconds; a bucket that needs longer to fill is kept until it is full, or expiry would fill it early. */
function countBucketRule(rule: BucketRule, { policy, subject }: RuleOwner): CountedRule {
  const { name, algorithm, limit, refillPerSecond, shadow = false } = rule
  if (!(refillPerSecond > 0 && refillPerSecond <= maxLimit))
    throw new RangeError(`rule "${name}": refillPerSecond is above 0, not ${refillPerSecond}`)
  const refillPerMs = refillPerSecond / 1000
  const windowMs = Math.ceil(limit / refillPerMs)
  if (windowMs > maxWindowMs) throw new RangeError(`rule "${name}": the bucket takes longer than a year to fill`)
  const expiryMs = Math.max(minBucketExpiryMs, windowMs)
  const scope = encodeURIComponent(name)
  const family = `${scope} bucket`
  return { name, policy, subject, algorithm, limit, windowMs, refillPerMs, expiryMs, shadow, scope, family }
}

function expectInteger(rule: string, member: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`rule "${rule}": ${member} is a whole number from ${least} to ${most}, not ${value}`)
}
