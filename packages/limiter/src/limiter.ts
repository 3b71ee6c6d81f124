import { type Clock, coarseClock } from './clock.ts'
import { combinePolicies, partsOf } from './combination/combine.ts'
import type { Decision } from './decision.ts'
import { type Explanation, explain } from './explain.ts'
import { FailoverLimiter, type FailoverOptions } from './failover/failover-limiter.ts'
import { divideByStore, type MultiStoreCombination } from './failover/multi-store.ts'
import type { Identifier } from './key.ts'
import { memoryStore } from './memory/store.ts'
import type { Labels } from './observer.ts'
import type { Policies, Policy } from './policy.ts'
import type { CounterStore } from './store.ts'

export interface LimiterOptions extends FailoverOptions {
  /** Where counters are kept. Default: in this process's memory. */
  readonly store?: CounterStore
  /** Where policies with a regional quota are counted. Default: `store`. */
  readonly regionalStore?: CounterStore
  /** Where policies that fail closed are counted. Default: `store`. */
  readonly closedStore?: CounterStore
  /** Default: the machine's clock, read about once a millisecond. */
  readonly clock?: Clock
}

export interface CheckOptions {
  /** What the request costs, a whole number from 1 to the smallest limit. Default 1. */
  readonly cost?: number
  /** Route template for the metrics, never a raw path. */
  readonly route?: string
}

export interface Limiter {
  /**
   * Takes `cost` from every rule of the policy, or from none; of several policies from all rules of all of them, or from
   * none (`combinePolicies`). Answers at once when the store does; never fails because of the store, since the policy's
   * failure mode answers then.
   * @throws RangeError for a cost that no wait could ever admit, or an identifier out of bounds
   * @example await limiter.check([tier, route, everybody], { kind: 'user', id: '42' })
   */
  check(policy: Policies, identifier: Identifier, options?: CheckOptions): Decision | Promise<Decision>
  /** Reports how a request of cost 1 would be decided, taking nothing. */
  peek(policy: Policies, identifier: Identifier): Decision | Promise<Decision>
  /** Gives back `amount` requests: to the current windows, or as tokens up to the capacity. Rejects when the store does. */
  grant(policy: Policy, identifier: Identifier, amount: number): Promise<Decision>
  /** Forgets what the identifier has used up of this policy's rules. Rejects when the store does. */
  reset(policy: Policy, identifier: Identifier): Promise<void>
  /** Tells an operator where an identifier is counted and why the next request would be admitted or not. */
  explain(policy: Policies, identifier: Identifier): Promise<Explanation>
}

/** A limiter over a store of counters. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { store = memoryStore(), regionalStore = store, closedStore = store, clock = coarseClock(), observer } = options
  const global = new FailoverLimiter(store, options)
  const regional = regionalStore === store ? global : new FailoverLimiter(regionalStore, options)
  const closed = closedStore === store ? global : new FailoverLimiter(closedStore, options)
  const limiterFor = (policy: Policy): FailoverLimiter => {
    if (policy.failureMode === 'closed') return closed
    return policy.quota === 'regional' ? regional : global
  }

  const report = (decision: Decision, route: string): Decision => {
    if (observer === undefined) return decision
    const labels: Labels = { route, tier: decision.policy.tier }
    observer.onDecision?.(decision, labels)
    for (const rule of decision.rules) if (rule.shadow && !rule.allowed) observer.onShadowRejection?.(rule.name, labels)
    return decision
  }

  const severalStores = regional !== global || closed !== global
  /** The guards of a combination whose policies are counted in different stores; undefined for one store. */
  const acrossStores = (policy: Policy): MultiStoreCombination | undefined =>
    severalStores && policy.parts !== undefined ? divideByStore(policy, limiterFor) : undefined

  const peek = (policy: Policy, identifier: Identifier): Decision | Promise<Decision> =>
    acrossStores(policy)?.peek(identifier, clock.now()) ?? limiterFor(policy).peek(policy, identifier, clock.now())

  return {
    check(policies, identifier, { cost = 1, route = '' } = {}) {
      const policy = resolvePolicy(policies)
      if (cost !== 1) for (const part of partsOf(policy)) checkCost(part, cost)
      const now = clock.now()
      const decision =
        acrossStores(policy)?.acquire(identifier, cost, now) ??
        limiterFor(policy).acquire(policy, identifier, cost, now)
      if (observer === undefined) return decision
      return decision instanceof Promise ? decision.then((value) => report(value, route)) : report(decision, route)
    },
    peek: (policies, identifier) => peek(resolvePolicy(policies), identifier),
    async grant(policy, identifier, amount) {
      if (!Number.isInteger(amount) || amount < 1 || amount >= 2 ** 31)
        throw new RangeError(`a grant is a whole number of requests from 1, not ${amount}`)
      return limiterFor(policy).grant(policy, identifier, amount, clock.now())
    },
    reset: (policy, identifier) => limiterFor(policy).reset(policy, identifier, clock.now()),
    async explain(policies, identifier) {
      const policy = resolvePolicy(policies)
      return explain(identifier, await peek(policy, identifier), limiterFor(policy).breakerState(policy))
    },
  }
}

const resolvePolicy = (policies: Policies): Policy => ('rules' in policies ? policies : combinePolicies(policies))

function checkCost(policy: Policy, cost: number): void {
  if (!Number.isInteger(cost) || cost < 1) throw new RangeError(`a cost is a whole number from 1, not ${cost}`)
  const rule = policy.rules.find(({ limit, shadow }) => cost > limit / policy.shards && !shadow)
  if (rule)
    throw new RangeError(
      `a cost of ${cost} never fits rule "${rule.name}" of "${policy.name}", limit ${rule.limit / policy.shards}`,
    )
}
