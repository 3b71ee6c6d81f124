import { type Clock, coarseClock } from './clock.ts'
import { combinePolicies, partsOf } from './combination/combine.ts'
import type { Decision } from './decision.ts'
import { type Explanation, explain } from './explain.ts'
import { FailoverLimiter, type FailoverOptions } from './failover/failover-limiter.ts'
import { divideByStore, type MultiStoreCombination } from './failover/multi-store.ts'
import type { Identifier } from './key.ts'
import { memoryStore } from './memory/store.ts'
import type { Labels, Observer } from './observer.ts'
import type { Policies, Policy } from './policy.ts'
import { maxLimit } from './rule.ts'
import type { CounterStore } from './store.ts'

/** Options of {@link createLimiter}. */
export interface LimiterOptions extends FailoverOptions {
  /** The store of the counters. Default: the memory of this process. */
  readonly store?: CounterStore
  /** The store of policies with a regional quota. Default: `store`. */
  readonly regionalStore?: CounterStore
  /** The store of policies that fail closed. Default: `store`. */
  readonly closedStore?: CounterStore
  /** The time. Default: the system clock, read about once a millisecond. */
  readonly clock?: Clock
}

/** Options of a check. */
export interface CheckOptions {
  /** Units that the request costs: an integer from 1 to the smallest limit, and to 2,147,483,647. Default 1. */
  readonly cost?: number
  /** Route template for metrics, never a raw path. */
  readonly route?: string
}

/** Checks requests against policies. Created by {@link createLimiter}. */
export interface Limiter {
  /**
   * Acquires `cost` units of every rule of the policy, or of none; of several policies, of all their rules or of none
   * (`combinePolicies`). Returns a decision at once when the store does, else a promise. Does not fail when the store
   * does: the policy's failure mode decides then.
   *
   * @throws RangeError for a cost that exceeds a limit or 2,147,483,647, or an invalid identifier
   * @example
   * const decision = await limiter.check([tier, route, everybody], { kind: 'user', id: '42' })
   * if (!decision.allowed) response.writeHead(429, decisionHeaders(decision))
   */
  check(policy: Policies, identifier: Identifier, options?: CheckOptions): Decision | Promise<Decision>
  /** Decides on a request of cost 1 without counting it. */
  peek(policy: Policies, identifier: Identifier): Decision | Promise<Decision>
  /**
   * Returns `amount` units to an identifier: to its current windows, or as tokens up to the capacity.
   *
   * @throws RangeError for an amount that is not an integer from 1 to 2,147,483,647
   * @throws Error when the store fails
   */
  grant(policy: Policy, identifier: Identifier, amount: number): Promise<Decision>
  /**
   * Deletes the counters of an identifier under the rules of this policy.
   *
   * @throws Error when the store fails
   */
  reset(policy: Policy, identifier: Identifier): Promise<void>
  /** Explains to an operator where an identifier is counted, and why its next request would be admitted or rejected. */
  explain(policy: Policies, identifier: Identifier): Promise<Explanation>
}

/**
 * Creates a limiter over a store of counters.
 *
 * @example
 * const limiter = createLimiter({ store: redisStore(client) })
 * const decision = await limiter.check(tierPolicy('free', { rpm: 10 }), { kind: 'ip', id: '192.0.2.1' })
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  return new StoreLimiter(options)
}

class StoreLimiter implements Limiter {
  readonly #clock: Clock
  readonly #observer: Observer | undefined
  readonly #global: FailoverLimiter
  readonly #regional: FailoverLimiter
  readonly #closed: FailoverLimiter
  readonly #hasSeveralStores: boolean

  constructor(options: LimiterOptions) {
    const { store = memoryStore(), regionalStore = store, closedStore = store, clock = coarseClock() } = options
    this.#clock = clock
    this.#observer = options.observer
    this.#global = new FailoverLimiter(store, options)
    this.#regional = regionalStore === store ? this.#global : new FailoverLimiter(regionalStore, options)
    this.#closed = closedStore === store ? this.#global : new FailoverLimiter(closedStore, options)
    this.#hasSeveralStores = this.#regional !== this.#global || this.#closed !== this.#global
  }

  check(
    policies: Policies,
    identifier: Identifier,
    { cost = 1, route = '' }: CheckOptions = {},
  ): Decision | Promise<Decision> {
    const policy = toPolicy(policies)
    if (cost !== 1) for (const part of partsOf(policy)) checkCost(part, cost)
    const now = this.#clock.now()
    const decision =
      this.#divide(policy)?.acquire(identifier, cost, now) ??
      this.#limiterFor(policy).acquire(policy, identifier, cost, now)
    if (this.#observer === undefined) return decision
    return decision instanceof Promise
      ? decision.then((value) => this.#report(value, route))
      : this.#report(decision, route)
  }

  peek(policies: Policies, identifier: Identifier): Decision | Promise<Decision> {
    const policy = toPolicy(policies)
    const now = this.#clock.now()
    return this.#divide(policy)?.peek(identifier, now) ?? this.#limiterFor(policy).peek(policy, identifier, now)
  }

  async grant(policy: Policy, identifier: Identifier, amount: number): Promise<Decision> {
    if (!Number.isInteger(amount) || amount < 1 || amount > maxLimit)
      throw new RangeError(`amount must be an integer from 1 to ${maxLimit}, got ${amount}`)
    return this.#limiterFor(policy).grant(policy, identifier, amount, this.#clock.now())
  }

  reset(policy: Policy, identifier: Identifier): Promise<void> {
    return this.#limiterFor(policy).reset(policy, identifier, this.#clock.now())
  }

  async explain(policies: Policies, identifier: Identifier): Promise<Explanation> {
    const policy = toPolicy(policies)
    const decision = await this.peek(policy, identifier)
    return explain(identifier, decision, this.#limiterFor(policy).breakerState(policy))
  }

  #limiterFor(policy: Policy): FailoverLimiter {
    if (policy.failureMode === 'closed') return this.#closed
    return policy.quota === 'regional' ? this.#regional : this.#global
  }

  /** A combination whose policies are counted in different stores; undefined for one store. */
  #divide(policy: Policy): MultiStoreCombination | undefined {
    if (!this.#hasSeveralStores || policy.parts === undefined) return undefined
    return divideByStore(policy, (part) => this.#limiterFor(part))
  }

  #report(decision: Decision, route: string): Decision {
    const labels: Labels = { route, tier: decision.policy.tier }
    this.#observer?.onDecision?.(decision, labels)
    for (const rule of decision.rules)
      if (rule.shadow && !rule.allowed) this.#observer?.onShadowRejection?.(rule.name, labels)
    return decision
  }
}

const toPolicy = (policies: Policies): Policy => ('rules' in policies ? policies : combinePolicies(policies))

function checkCost(policy: Policy, cost: number): void {
  if (!Number.isInteger(cost) || cost < 1) throw new RangeError(`cost must be an integer from 1, got ${cost}`)
  const rule = policy.rules.find(({ limit, shadow }) => cost > limit / policy.shards && !shadow)
  if (rule)
    throw new RangeError(
      `a cost of ${cost} exceeds the limit ${rule.limit / policy.shards} of rule "${rule.name}" of "${policy.name}"`,
    )
  // A shadow rule counts any cost, and a store fails on numbers that it cannot add.
  if (cost > maxLimit) throw new RangeError(`cost must be at most ${maxLimit}, got ${cost}`)
}
