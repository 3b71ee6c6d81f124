import { remaining, resetAt, waitMs } from './algorithms/counters.ts'
import { elapsedMs } from './algorithms/window.ts'
import { hasEnforcedRule, type Policy } from './policy.ts'
import type { CountedRule } from './rule.ts'
import type { CounterResult } from './store.ts'

/** What decided: the shared store, this process's own count, or the failure mode itself. */
export type Source = 'store' | 'local' | 'open' | 'closed'

/** The state of one rule after a check. */
export interface RuleDecision {
  /** The rule's name. */
  readonly name: string
  /** The policy that the rule belongs to, where several were combined. */
  readonly policy: string
  /** Whether this rule admits the request. */
  readonly allowed: boolean
  /** Whether the rule only reports, and rejects nothing. */
  readonly shadow: boolean
  /** Requests in a window, or the capacity of the bucket. */
  readonly limit: number
  /** Requests of cost 1 that are left. */
  readonly remaining: number
  /** Length of the window; of a bucket the time in which an empty one fills. */
  readonly windowMs: number
  /** Start of the next window (for a bucket: when it is full), Unix milliseconds. */
  readonly resetAt: number
  /** Seconds until a lone request like this one is admitted, an integer; 0 when this one was. */
  readonly retryAfterSeconds: number
}

/**
 * The limiter's answer to a check. `limit`, `remaining` and `resetAt` are those of the tightest rule: the violated rule
 * with the longest wait, else the rule with the smallest share left.
 */
export interface Decision {
  /** Whether to serve the request. */
  readonly allowed: boolean
  /** Limit of the tightest rule. */
  readonly limit: number
  /** Requests of cost 1 that the tightest rule has left. */
  readonly remaining: number
  /** Start of the next window, Unix milliseconds. */
  readonly resetAt: number
  /** Seconds to wait, an integer: at least 1 when rejected, 0 when allowed. A lone request after them is admitted. */
  readonly retryAfterSeconds: number
  /** The time of the decision, Unix milliseconds. */
  readonly now: number
  /** The policy that was checked. */
  readonly policy: Policy
  /** What decided. */
  readonly source: Source
  /** Every rule, in the order of the policy. */
  readonly rules: readonly RuleDecision[]
}

/** Creates the decision on a request of `cost` from a store's result. */
export function createDecision(policy: Policy, result: CounterResult, cost: number, source: Source): Decision {
  return new CountedDecision(policy, result, cost, source)
}

/** The result that a decision was made from; undefined where nothing was counted. */
export function countedResult(decision: Decision): CounterResult | undefined {
  return decision instanceof CountedDecision ? CountedDecision.resultOf(decision) : undefined
}

/**
 * Creates a decision without counters: the store is unavailable and the failure mode is `open` or `closed`. Shadow rules
 * reject nothing then either.
 */
export function createUncountedDecision(
  policy: Policy,
  isOpen: boolean,
  now: number,
  retryAfterSeconds: number,
): Decision {
  const allowed = isOpen || !hasEnforcedRule(policy)
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
  const shown = hasEnforcedRule(policy) ? rules.filter(({ shadow }) => !shadow) : rules
  const { limit, remaining, resetAt } = shown.reduce((tight, rule) => (rule.limit < tight.limit ? rule : tight))
  const source = allowed ? 'open' : 'closed'
  const wait = allowed ? 0 : retryAfterSeconds
  return { allowed, limit, remaining, resetAt, retryAfterSeconds: wait, now, policy, source, rules }
}

/** Joins the decisions on the shares of a combination, which are counted in different stores. */
export function joinDecisions(
  policy: Policy,
  shares: readonly { readonly places: readonly number[] }[],
  decisions: readonly Decision[],
  allowed: boolean,
): Decision {
  const rules = new Array<RuleDecision>(policy.rules.length)
  shares.forEach(({ places }, nth) => {
    places.forEach((place, i) => {
      const rule = decisions[nth]?.rules[i]
      if (rule !== undefined) rules[place] = { ...rule, name: ruleAt(policy, place).name }
    })
  })
  const enforced = decisions.filter((decision) => hasEnforcedRule(decision.policy))
  const [first, ...others] = enforced.length > 0 ? enforced : decisions
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

/** Computes its members when they are read: many callers read `allowed` alone. */
class CountedDecision implements Decision {
  readonly policy: Policy
  readonly source: Source
  readonly #result: CounterResult
  readonly #cost: number
  /** Index of the tightest rule; below zero before the first read. */
  #tightest = -1

  constructor(policy: Policy, result: CounterResult, cost: number, source: Source) {
    this.policy = policy
    this.source = source
    this.#result = result
    this.#cost = cost
  }

  static resultOf(decision: CountedDecision): CounterResult {
    return decision.#result
  }

  get allowed(): boolean {
    return this.#result.allowed
  }

  get now(): number {
    return this.#result.now
  }

  get limit(): number {
    return ruleAt(this.policy, this.#tightestRule()).limit
  }

  get remaining(): number {
    const at = this.#tightestRule()
    return remaining(ruleAt(this.policy, at), this.#result, at)
  }

  get resetAt(): number {
    const at = this.#tightestRule()
    return resetAt(ruleAt(this.policy, at), this.#result, at)
  }

  get retryAfterSeconds(): number {
    if (this.allowed) return 0
    if (this.#result.waitMs !== undefined) return toSeconds(this.#result.waitMs)
    const at = this.#tightestRule()
    return toSeconds(waitMs(ruleAt(this.policy, at), this.#result, at, this.#cost))
  }

  get rules(): readonly RuleDecision[] {
    return this.policy.rules.map((rule, i) => {
      const allowed = (this.#result.violated & (1 << i)) === 0
      return {
        name: rule.name,
        policy: rule.policy,
        allowed,
        shadow: rule.shadow,
        limit: rule.limit,
        remaining: remaining(rule, this.#result, i),
        windowMs: rule.windowMs,
        resetAt: resetAt(rule, this.#result, i),
        retryAfterSeconds: allowed ? 0 : toSeconds(waitMs(rule, this.#result, i, this.#cost)),
      }
    })
  }

  #tightestRule(): number {
    if (this.#tightest < 0) {
      if (this.allowed) this.#findSmallestShare()
      else this.#tightest = findMaxWait(this.policy, this.#result, this.#cost)
    }
    return this.#tightest
  }

  #findSmallestShare(): void {
    const { rules } = this.policy
    let smallest = Number.POSITIVE_INFINITY
    this.#tightest = 0
    for (let i = 0; i < rules.length; i++) {
      const rule = ruleAt(this.policy, i)
      if (rule.shadow && rules.length > 1) continue
      const left = remaining(rule, this.#result, i)
      if (left / rule.limit >= smallest) continue
      smallest = left / rule.limit
      this.#tightest = i
    }
  }
}

function ruleAt(policy: Policy, index: number): CountedRule {
  const rule = policy.rules[index]
  if (rule === undefined) throw new RangeError(`policy "${policy.name}" has no rule ${index}`)
  return rule
}

function toSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}

/** Index of the rule that rejects longest. */
function findMaxWait({ rules }: Policy, result: CounterResult, cost: number): number {
  let tightest = 0
  let maxWait = -1
  rules.forEach((rule, i) => {
    const wait = rule.shadow ? -1 : waitMs(rule, result, i, cost)
    if (wait <= maxWait) return
    maxWait = wait
    tightest = i
  })
  return tightest
}
