import { type Clock, coarseClock } from './clock.ts'
import { type Decision, decide } from './decision.ts'
import type { Identifier } from './key.ts'
import { memoryStore } from './memory/store.ts'
import type { Policy } from './policy.ts'
import type { CounterStore, Taken } from './store.ts'

export interface LimiterOptions {
  /** Where counters are kept. Default: in this process's memory. */
  readonly store?: CounterStore
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
   * Takes `cost` from every rule of the policy, or from none. Answers at once when the store does.
   * @throws RangeError for a cost that no wait could ever admit, or an identifier out of bounds
   */
  check(policy: Policy, identifier: Identifier, options?: CheckOptions): Decision | Promise<Decision>
  /** Tells how a request of cost 1 would fare, taking nothing. */
  peek(policy: Policy, identifier: Identifier): Decision | Promise<Decision>
  /** Gives back `amount` requests: to the current windows, or as tokens. */
  grant(policy: Policy, identifier: Identifier, amount: number): Decision | Promise<Decision>
  /** Forgets what the identifier has used up of this policy's rules. */
  reset(policy: Policy, identifier: Identifier): void | Promise<void>
}

/** A limiter over a store of counters. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { store = memoryStore(), clock = coarseClock() } = options
  const answer = (policy: Policy, taken: Taken | Promise<Taken>, cost: number): Decision | Promise<Decision> =>
    taken instanceof Promise
      ? taken.then((value) => decide(policy, value, cost, 'store'))
      : decide(policy, taken, cost, 'store')
  return {
    check(policy, identifier, { cost = 1 } = {}) {
      if (cost !== 1) checkCost(policy, cost)
      return answer(policy, store.take(policy, identifier, cost, clock.now()), cost)
    },
    peek: (policy, identifier) => answer(policy, store.peek(policy, identifier, clock.now()), 1),
    grant(policy, identifier, amount) {
      if (!Number.isInteger(amount) || amount < 1 || amount >= 2 ** 31)
        throw new RangeError(`a grant is a whole number of requests from 1, not ${amount}`)
      const back = policy.rules.map(() => -amount)
      return answer(policy, store.add(policy, identifier, back, clock.now()), 1)
    },
    reset: (policy, identifier) => store.reset(policy, identifier, clock.now()),
  }
}

function checkCost(policy: Policy, cost: number): void {
  if (!Number.isInteger(cost) || cost < 1) throw new RangeError(`a cost is a whole number from 1, not ${cost}`)
  const rule = policy.rules.find(({ limit, shadow }) => cost > limit && !shadow)
  if (rule)
    throw new RangeError(`a cost of ${cost} never fits rule "${rule.name}" of "${policy.name}", limit ${rule.limit}`)
}
