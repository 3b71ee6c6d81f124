import { remaining, resetAt, waitMs } from './algorithms/counters.ts'
import { elapsedMs } from './algorithms/window.ts'
import type { Policy } from './policy.ts'
import type { CountedRule } from './rule.ts'
import type { CounterResult } from './store.ts'

/** Who answered: the shared store, this process's own count, or the failure mode itself. */
export type Source = 'store' | 'local' | 'open' | 'closed'

/** How one rule stands after the check. */
export interface RuleDecision {
  readonly name: string
  /** The policy that it belongs to, where several were combined. */
  readonly policy: string
  readonly allowed: boolean
  readonly shadow: boolean
  readonly limit: number
  readonly remaining: number
  readonly windowMs: number
  /** Start of the next window (a bucket: when it is full), Unix milliseconds. */
  readonly resetAt: number
  /** Whole seconds until a lone request like this one is admitted; 0 when it was. */
  readonly retryAfterSeconds: number
}

/**
 * The limiter's answer. `limit`, `remaining` and `resetAt` speak for the tightest rule: the violated one that lasts
 * longest, else the one with the smallest share left.
 */
export interface Decision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Start of the next window, Unix milliseconds. */
  readonly resetAt: number
  /** Whole seconds to wait, at least 1 when rejected, 0 when allowed. A lone request after them is admitted. */
  readonly retryAfterSeconds: number
  /** The time it was decided by, Unix milliseconds. */
  readonly now: number
  readonly policy: Policy
  readonly source: Source
  readonly rules: readonly RuleDecision[]
}

/** Reads a store's answer to a check of `cost`. */
export function createDecision(policy: Policy, result: CounterResult, cost: number, source: Source): Decision {
  return new CountedDecision(policy, result, cost, source)
}

/** The answer without any count: an unavailable store in the modes `open` and `closed`. */
export function createUncountedDecision(
  policy: Policy,
  allowed: boolean,
  now: number,
  retryAfterSeconds: number,
): Decision {
  const rules = policy.rules.map(
    (rule): RuleDecision => ({
      name: rule.name,
      policy: rule.policy,
      allowed: allowed || rule.shadow,
      shadow: rule.shadow,
      limit: rule.limit,
      remaining: allowed ? rule.limit : 0,
      windowMs: rule.windowMs,
      resetAt: now - elapsedMs(now, rule.windowMs) + rule.windowMs,
      retryAfterSeconds: allowed || rule.shadow ? 0 : retryAfterSeconds,
    }),
  )
  const { limit, remaining, resetAt } = rules.reduce((tight, rule) => (rule.limit < tight.limit ? rule : tight))
  const source = allowed ? 'open' : 'closed'
  const wait = allowed ? 0 : retryAfterSeconds
  return { allowed, limit, remaining, resetAt, retryAfterSeconds: wait, now, policy, source, rules }
}

/** One answer of those about the shares of a combination, which different stores gave. */
export function joinDecisions(
  policy: Policy,
  all: readonly { readonly places: readonly number[] }[],
  decisions: readonly Decision[],
  allowed: boolean,
): Decision {
  const rules = new Array<RuleDecision>(policy.rules.length)
  all.forEach(({ places }, nth) => {
    places.forEach((place, i) => {
      const rule = decisions[nth]?.rules[i]
      if (rule !== undefined) rules[place] = { ...rule, name: ruleAt(policy, place).name }
    })
  })
  const [first, ...others] = decisions
  if (first === undefined) throw new RangeError(`policy "${policy.name}" has no shares`)
  const tightest = others.reduce((tight, one) => (isTighter(one, tight) ? one : tight), first)
  const { limit, remaining, resetAt, retryAfterSeconds, source, now } = tightest
  const wait = allowed ? 0 : Math.max(1, retryAfterSeconds)
  return { allowed, limit, remaining, resetAt, retryAfterSeconds: wait, now, policy, source, rules }
}

function isTighter(one: Decision, other: Decision): boolean {
  if (one.allowed !== other.allowed) return !one.allowed
  if (!one.allowed) return one.retryAfterSeconds > other.retryAfterSeconds
  return one.remaining / one.limit < other.remaining / other.limit
}

/** Works its parts out when somebody looks: many callers ask for `allowed` alone. */
class CountedDecision implements Decision {
  readonly policy: Policy
  readonly source: Source
  readonly allowed: boolean
  readonly #result: CounterResult
  readonly #cost: number
  #tightest = -1
  /** What remains of the tightest rule; below zero when nobody has looked yet. */
  #remaining = -1

  constructor(policy: Policy, result: CounterResult, cost: number, source: Source) {
    this.policy = policy
    this.source = source
    this.allowed = result.allowed
    this.#result = result
    this.#cost = cost
  }

  get now(): number {
    return this.#result.now
  }

  get limit(): number {
    return ruleAt(this.policy, this.#tightestRule()).limit
  }

  get remaining(): number {
    this.#tightestRule()
    if (this.#remaining < 0) this.#remaining = this.#read(remaining)
    return this.#remaining
  }

  get resetAt(): number {
    return this.#read(resetAt)
  }

  get retryAfterSeconds(): number {
    if (this.allowed) return 0
    if (this.#result.waitMs !== undefined) return wholeSeconds(this.#result.waitMs)
    return this.#read((rule, a, b, now) => retrySeconds(rule, a, b, this.#cost, now))
  }

  get rules(): readonly RuleDecision[] {
    const { counters, now, violated } = this.#result
    return this.policy.rules.map((rule, i) => {
      const a = counters[2 * i] ?? 0
      const b = counters[2 * i + 1] ?? 0
      const within = (violated & (1 << i)) === 0
      return {
        name: rule.name,
        policy: rule.policy,
        allowed: within,
        shadow: rule.shadow,
        limit: rule.limit,
        remaining: remaining(rule, a, b, now),
        windowMs: rule.windowMs,
        resetAt: resetAt(rule, a, b, now),
        retryAfterSeconds: within ? 0 : retrySeconds(rule, a, b, this.#cost, now),
      }
    })
  }

  #read(reading: (rule: CountedRule, a: number, b: number, now: number) => number): number {
    const { counters, now } = this.#result
    const at = this.#tightestRule()
    return reading(ruleAt(this.policy, at), counters[2 * at] ?? 0, counters[2 * at + 1] ?? 0, now)
  }

  #tightestRule(): number {
    if (this.#tightest < 0) {
      if (this.allowed) this.#findSmallestShare()
      else this.#tightest = findLongestWait(this.policy, this.#result.counters, this.#cost, this.#result.now)
    }
    return this.#tightest
  }

  #findSmallestShare(): void {
    const { rules } = this.policy
    const { counters, now } = this.#result
    let smallest = Number.POSITIVE_INFINITY
    this.#tightest = 0
    for (let i = 0; i < rules.length; i++) {
      const rule = ruleAt(this.policy, i)
      if (rule.shadow && rules.length > 1) continue
      const left = remaining(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, now)
      if (left / rule.limit >= smallest) continue
      smallest = left / rule.limit
      this.#tightest = i
      this.#remaining = left
    }
  }
}

function ruleAt(policy: Policy, index: number): CountedRule {
  const rule = policy.rules[index]
  if (rule === undefined) throw new RangeError(`policy "${policy.name}" has no rule ${index}`)
  return rule
}

function retrySeconds(rule: CountedRule, a: number, b: number, cost: number, now: number): number {
  return wholeSeconds(waitMs(rule, a, b, cost, now))
}

function wholeSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}

function findLongestWait(policy: Policy, counters: readonly number[], cost: number, now: number): number {
  let tightest = 0
  let longest = -1
  for (let i = 0; i < policy.rules.length; i++) {
    const rule = ruleAt(policy, i)
    if (rule.shadow) continue
    const wait = waitMs(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, cost, now)
    if (wait > longest) {
      longest = wait
      tightest = i
    }
  }
  return tightest
}
