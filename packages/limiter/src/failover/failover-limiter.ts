import { admits } from '../algorithms/counters.ts'
import { combinePolicies, countedIdentifier } from '../combination/combine.ts'
import {
  acquireByShares,
  isMixed,
  queryShares,
  releaseAmounts,
  resultOfShare,
  subjectShares,
} from '../combination/shares.ts'
import { createDecision, createUncountedDecision, type Decision, type Source } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { MemoryStoreOptions } from '../memory/store.ts'
import type { BreakerScope, Observer } from '../observer.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'
import { Breaker, type BreakerOptions } from './breaker.ts'
import { Deadline, type Outcomes, type Turn } from './deadline.ts'
import { Replica } from './replica.ts'

export interface FailoverOptions {
  /** How long a check waits for the store. Default 5. */
  readonly deadlineMs?: number
  /** How long a check of a policy that fails closed waits. Default 250. */
  readonly closedDeadlineMs?: number
  readonly breaker?: Omit<BreakerOptions, 'onChange'>
  /** The local fallback's bounds. */
  readonly fallback?: MemoryStoreOptions
  readonly observer?: Observer
}

interface StoreAccess {
  readonly deadline: Deadline
  readonly breaker: Breaker
}

/** A check that waits for the store. */
interface PendingCheck {
  readonly policy: Policy
  readonly identifier: Identifier
  readonly cost: number
  readonly now: number
}

/**
 * Stands before a store that may be slow or gone. Slow: this process counts by itself. Repeatedly slow, or failing: the
 * policy's failure mode decides until a probe comes back. Nothing is queued to be repeated later; counts that were lost
 * are raised again to what this process remembers.
 */
export class FailoverLimiter {
  readonly store: CounterStore
  readonly #replica: Replica
  readonly #access: Readonly<Record<BreakerScope, StoreAccess>>
  readonly #closedDeadlineMs: number
  readonly #observer: Observer
  readonly #outcomes: Outcomes<PendingCheck, CounterResult, Decision> = {
    onResult: (asked, result, turn) => this.#acceptResult(asked, result, turn),
    onError: (asked, error, turn) => {
      this.#observer.onStoreError?.(error)
      this.#recordFailure(asked, turn)
      return this.#decideWithoutStore(asked.policy, asked.identifier, asked.cost, asked.now)
    },
    onTimeout: (asked, turn) => {
      this.#observer.onStoreTimeout?.()
      this.#recordFailure(asked, turn)
      const { policy, identifier, cost, now } = asked
      return policy.failureMode === 'closed'
        ? this.#decideWithoutStore(policy, identifier, cost, now)
        : this.#decideLocally(policy, identifier, cost, now)
    },
  }

  constructor(store: CounterStore, options: FailoverOptions) {
    const { deadlineMs = 5, closedDeadlineMs = 250, breaker = {}, fallback = {}, observer = {} } = options
    const way = (patience: BreakerScope, ms: number): StoreAccess => ({
      deadline: new Deadline(ms),
      breaker: new Breaker({ ...breaker, onChange: (state) => observer.onBreakerChange?.(state, patience) }),
    })
    this.store = store
    this.#replica = new Replica(fallback, store.combines ?? false)
    this.#access = { standard: way('standard', deadlineMs), fail_closed: way('fail_closed', closedDeadlineMs) }
    this.#closedDeadlineMs = closedDeadlineMs
    this.#observer = observer
  }

  /** Takes at the store, or answers in its stead. */
  acquire(policy: Policy, requester: Identifier, cost: number, now: number): Decision | Promise<Decision> {
    const identifier = countedIdentifier(policy, requester)
    const { deadline, breaker } = this.#accessFor(policy)
    if (breaker.state !== 'closed' && !breaker.admits(now))
      return this.#decideWithoutStore(policy, identifier, cost, now)
    // What is answered by a local count was served, and may be counted late; what is rejected may not.
    const withinMs = policy.failureMode === 'closed' ? this.#closedDeadlineMs : undefined
    const inTurn = policy.parts !== undefined && !this.store.combines && isMixed(policy)
    if (this.store.startAcquire !== undefined && !inTurn) {
      const entry = deadline.start({ policy, identifier, cost, now }, this.#outcomes)
      try {
        this.store.startAcquire(entry, policy, identifier, cost, now, withinMs)
      } catch (fault) {
        entry.cancel()
        throw fault
      }
      return entry.promise
    }
    const result = inTurn
      ? acquireByShares(this.store, policy, identifier, { cost, now, withinMs })
      : this.store.acquire(policy, identifier, cost, now, withinMs)
    if (!(result instanceof Promise)) return createDecision(policy, result, cost, 'store')
    return deadline.race(result, { policy, identifier, cost, now }, this.#outcomes)
  }

  /** How a request of `cost` would fare, without taking; by what this process remembers when the store is silent. */
  peek(policy: Policy, identifier: Identifier, now: number, cost = 1): Decision | Promise<Decision> {
    const stands = (value: CounterResult, source: Source): Decision =>
      createDecision(policy, atCost(policy, value, cost), cost, source)
    const result = queryShares(policy, identifier, (part, who) => this.store.peek(part, who, now, cost), cost)
    if (!(result instanceof Promise)) return stands(result, 'store')
    const { memory } = this.#replica
    const here = () =>
      queryShares(policy, identifier, (part, who) => memory.peek(part, who, this.#time(now))) as CounterResult
    const read = (): Decision => stands(here(), 'local')
    const outcomes = {
      onResult: (_: null, value: CounterResult) => stands(value, 'store'),
      onError: read,
      onTimeout: read,
    }
    return this.#accessFor(policy).deadline.race(result, null, outcomes)
  }

  /** Gives back; rejects when the store does, since an operator has to know. */
  async grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<Decision> {
    const result = queryShares(policy, identifier, async (part, who) => {
      const answer = await this.#awaitOperation(this.store.grant(part, who, amount, now))
      this.#replica.copy(part, who, answer)
      return answer
    })
    return createDecision(policy, await result, 1, 'store')
  }

  /** Takes back what an admitted check took, since it was refused elsewhere. What cannot be given back stays taken. */
  async release(policy: Policy, identifier: Identifier, cost: number, decision: Decision): Promise<void> {
    const { source, rules, now } = decision
    if (source !== 'store' && source !== 'local') return
    const violated = rules.reduce((bits, rule, i) => (rule.allowed ? bits : bits | (1 << i)), 0)
    const store = source === 'store' ? this.store : this.#replica.memory
    const result: CounterResult = { allowed: true, violated, counters: [], now }
    const back = queryShares(policy, identifier, async (part, who, share) => {
      const amounts = releaseAmounts(part, share === undefined ? result : resultOfShare(share, result, policy), cost)
      const answer = await store.add(part, who, amounts, now, now)
      if (source === 'store') this.#replica.copy(part, who, answer)
      return answer
    })
    await this.#awaitOperation(back).catch(() => {})
  }

  /** Forgets; rejects when the store does. */
  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    for (const { policy: part } of subjectShares(policy)) {
      const who = countedIdentifier(part, identifier)
      this.#replica.memory.reset(part, who, now)
      await this.#awaitOperation(this.store.reset(part, who, now))
    }
  }

  breakerState(policy: Policy): Breaker['state'] {
    return this.#accessFor(policy).breaker.state
  }

  #acceptResult(asked: PendingCheck, result: CounterResult, turn: Turn): Decision | Promise<Decision> {
    const { policy, identifier, cost } = asked
    if (!turn.hasAnswer) {
      turn.hasAnswer = true
      this.#accessFor(policy).breaker.recordSuccess()
      this.#observer.onStoreResponse?.(performance.now() - turn.sentAt)
    }
    this.#replica.trackGeneration(this.store.generation)
    if (this.#replica.applyResult(policy, identifier, result, cost))
      return createDecision(policy, result, cost, 'store')
    return this.#restoreCounts(asked, result)
  }

  /** Gives the store back what it has lost and answers from what is remembered here; unless it was given back there. */
  #restoreCounts({ policy, identifier, cost }: PendingCheck, result: CounterResult): Promise<Decision> {
    const own = this.#acquireLocally(policy, identifier, cost, result.now)
    const remembered = (): Decision => createDecision(policy, own, cost, 'local')
    const raised = queryShares(policy, identifier, (part, who, share) =>
      this.store.raise(part, who, (share === undefined ? own : resultOfShare(share, own, policy)).counters, own.now),
    )
    const raising = Promise.resolve(raised)
    return this.#accessFor(policy).deadline.race(raising, null, {
      onResult: (_, raised) => {
        if (this.#replica.isAdjusted(policy, own, raised)) {
          queryShares(policy, identifier, (part, who, share) => {
            const answer = share === undefined ? raised : resultOfShare(share, raised, policy)
            this.#replica.copy(part, who, answer)
            return answer
          })
          return createDecision(policy, result, cost, 'store')
        }
        this.#observer.onCountersRestored?.()
        return remembered()
      },
      onError: (_, error) => {
        this.#observer.onStoreError?.(error)
        return remembered()
      },
      onTimeout: remembered,
    })
  }

  #recordFailure({ policy, now }: PendingCheck, turn: Turn): void {
    this.#replica.suspectLoss()
    this.#accessFor(policy).breaker.recordFailure(now, turn)
  }

  #decideWithoutStore(policy: Policy, identifier: Identifier, cost: number, now: number): Decision {
    if (policy.failureMode === 'local') return this.#decideLocally(selectLocalPolicies(policy), identifier, cost, now)
    if (policy.failureMode === 'open') return createUncountedDecision(policy, true, now, 0)
    const waitMs = this.#accessFor(policy).breaker.waitMs(now)
    return createUncountedDecision(policy, false, now, Math.max(1, Math.ceil(waitMs / 1000)))
  }

  #decideLocally(policy: Policy, identifier: Identifier, cost: number, now: number): Decision {
    return createDecision(policy, this.#acquireLocally(policy, identifier, cost, this.#time(now)), cost, 'local')
  }

  #acquireLocally(policy: Policy, identifier: Identifier, cost: number, now: number): CounterResult {
    const { memory } = this.#replica
    if (!isMixed(policy)) return memory.acquire(policy, countedIdentifier(policy, identifier), cost, now)
    return acquireByShares(memory, policy, identifier, { cost, now }) as CounterResult
  }

  #accessFor(policy: Policy): StoreAccess {
    return policy.failureMode === 'closed' ? this.#access.fail_closed : this.#access.standard
  }

  #time(now: number): number {
    return this.store.time?.(now) ?? now
  }

  #awaitOperation<T>(answer: T | Promise<T>): Promise<T> {
    return this.#access.fail_closed.deadline.race(Promise.resolve(answer), null, {
      onResult: (_, value) => value,
      onError(_, error) {
        throw error
      },
      onTimeout() {
        throw new Error('the counter store did not answer in time')
      },
    })
  }
}

/** A store tells how a request of cost 1 would fare; how a dearer one would, its counters tell, or `waitMs`. */
function atCost({ rules }: Policy, result: CounterResult, cost: number): CounterResult {
  if (cost === 1) return result
  const { counters, now, waitMs = 0 } = result
  let violated = 0
  rules.forEach((rule, i) => {
    if (!admits(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, cost, now)) violated |= 1 << i
  })
  const allowed = waitMs === 0 && rules.every(({ shadow }, i) => shadow || (violated & (1 << i)) === 0)
  return { ...result, allowed, violated }
}

/** Those of a combination that are counted in this process while the store is away: `open` ones admit without. */
function selectLocalPolicies(policy: Policy): Policy {
  const { parts } = policy
  if (parts === undefined || parts.every(({ failureMode }) => failureMode === 'local')) return policy
  return combinePolicies(parts.filter(({ failureMode }) => failureMode === 'local'))
}
