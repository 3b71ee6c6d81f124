import { findViolations, isAllowed } from '../algorithms/counters.ts'
import { combinePolicies, countedIdentifier, partsOf } from '../combination/combine.ts'
import { acquireByShares } from '../combination/in-turn.ts'
import { queryShares } from '../combination/query.ts'
import { createRelease, resultOfShare } from '../combination/results.ts'
import { isMixed, subjectShares } from '../combination/shares.ts'
import { countedResult, createDecision, createUncountedDecision, type Decision, type Source } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { MemoryStoreOptions } from '../memory/store.ts'
import type { BreakerScope, Observer } from '../observer.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, CounterResult, CounterStore } from '../store.ts'
import { Breaker, type BreakerOptions } from './breaker.ts'
import { Deadline, type Outcomes, type Turn } from './deadline.ts'
import { Replica } from './replica.ts'

/** How a limiter deals with a counter store that is slow or unavailable. */
export interface FailoverOptions {
  /** Milliseconds that a check waits for the store. Default 5. */
  readonly deadlineMs?: number
  /** Milliseconds that a check of a policy that fails closed waits for the store. Default 250. */
  readonly closedDeadlineMs?: number
  /** When the circuit breaker of the store opens, and for how long. */
  readonly breaker?: Omit<BreakerOptions, 'onChange'>
  /** Bounds of the counters that this process keeps as a local fallback. */
  readonly fallback?: MemoryStoreOptions
  /** Receives the limiter's events, for metrics. */
  readonly observer?: Observer
}

/** How long to wait for the store, and whether to call it. */
interface StoreAccess {
  readonly deadline: Deadline
  readonly breaker: Breaker
}

/**
 * A limiter in front of a store that may be slow or unavailable. While the store is slow, this process counts by itself.
 * When it fails, or is slow repeatedly, the policy's failure mode decides until a probe succeeds. Nothing is queued to be
 * repeated later; counts that the store has lost are raised again to what this process remembers.
 */
export class FailoverLimiter {
  readonly store: CounterStore
  readonly #replica: Replica
  readonly #access: Readonly<Record<BreakerScope, StoreAccess>>
  readonly #closedDeadlineMs: number
  readonly #observer: Observer
  readonly #outcomes: Outcomes<AcquireRequest, CounterResult, Decision> = {
    onResult: (request, result, turn) => this.#acceptResult(request, result, turn),
    onError: (request, error, turn) => {
      this.#observer.onStoreError?.(error)
      this.#recordFailure(request, turn)
      return this.#decideWithoutStore(request)
    },
    onTimeout: (request, turn) => {
      this.#observer.onStoreTimeout?.()
      this.#recordFailure(request, turn)
      return request.policy.failureMode === 'closed' ? this.#decideWithoutStore(request) : this.#decideLocally(request)
    },
  }

  constructor(store: CounterStore, options: FailoverOptions) {
    const { deadlineMs = 5, closedDeadlineMs = 250, breaker = {}, fallback = {}, observer = {} } = options
    const access = (scope: BreakerScope, ms: number): StoreAccess => ({
      deadline: new Deadline(ms),
      breaker: new Breaker({ ...breaker, onChange: (state) => observer.onBreakerChange?.(state, scope) }),
    })
    this.store = store
    this.#replica = new Replica(fallback, store.combines ?? false)
    this.#access = { standard: access('standard', deadlineMs), fail_closed: access('fail_closed', closedDeadlineMs) }
    this.#closedDeadlineMs = closedDeadlineMs
    this.#observer = observer
  }

  /** Acquires from the store, or decides without it. */
  acquire(policy: Policy, requester: Identifier, cost: number, now: number): Decision | Promise<Decision> {
    const { deadline, breaker } = this.#accessFor(policy)
    const isInTurn = policy.parts !== undefined && !this.store.combines && isMixed(policy)
    if (breaker.state === 'closed' && !isInTurn) {
      const result = this.store.acquireAtOnce?.(policy, countedIdentifier(policy, requester), cost, now)
      if (result !== undefined) return createDecision(policy, result, cost, 'store')
    }
    // A request that a local count admitted was served, and may be counted late; a rejected one may not.
    const withinMs = policy.failureMode === 'closed' ? this.#closedDeadlineMs : undefined
    const request = { policy, identifier: countedIdentifier(policy, requester), cost, now, withinMs }
    if (breaker.state !== 'closed' && !breaker.admits(now)) return this.#decideWithoutStore(request)
    if (this.store.startAcquire !== undefined && !isInTurn) {
      const entry = deadline.start(request, this.#outcomes)
      try {
        this.store.startAcquire(request, entry)
      } catch (fault) {
        entry.cancel()
        throw fault
      }
      return entry.promise
    }
    const result = isInTurn ? acquireByShares(this.store, request) : this.store.acquire(request)
    if (!(result instanceof Promise)) return createDecision(policy, result, cost, 'store')
    return deadline.race(result, request, this.#outcomes)
  }

  /** Decides on a request of `cost` without acquiring, by what this process remembers when the store does not answer. */
  peek(policy: Policy, identifier: Identifier, now: number, cost = 1): Decision | Promise<Decision> {
    const decide = (value: CounterResult, source: Source): Decision =>
      createDecision(policy, checkAtCost(policy, value, cost), cost, source)
    const result = queryShares(policy, identifier, (part, who) => this.store.peek(part, who, now, cost), cost)
    if (!(result instanceof Promise)) return decide(result, 'store')
    const { memory } = this.#replica
    const decideLocally = (): Decision => {
      const local = queryShares(policy, identifier, (part, who) => memory.peek(part, who, this.#time(now)))
      return decide(local as CounterResult, 'local')
    }
    return this.#accessFor(policy).deadline.race(result, null, {
      onResult: (_, value) => decide(value, 'store'),
      onError: decideLocally,
      onTimeout: decideLocally,
    })
  }

  /**
   * Returns units to an identifier and decides on its next request, of cost 1. Rejects when the store does, since an
   * operator has to know.
   */
  async grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<Decision> {
    const result = queryShares(policy, identifier, async (part, who) => {
      const granted = await this.#awaitOperation(this.store.grant(part, who, amount, now))
      this.#replica.copy(part, who, granted)
      return granted
    })
    // Stores answer a grant with the counters after it, which may still reject the next request.
    return createDecision(policy, checkByCounters(policy, await result, 1), 1, 'store')
  }

  /** Releases what an admitted check acquired, since another store rejected. What cannot be released stays acquired. */
  async release(policy: Policy, identifier: Identifier, cost: number, decision: Decision): Promise<void> {
    const { source, now } = decision
    const acquired = countedResult(decision)
    if (acquired === undefined) return
    const store = source === 'store' ? this.store : this.#replica.memory
    const released = queryShares(policy, identifier, async (part, who, share) => {
      const own = share === undefined ? acquired : resultOfShare(share, acquired)
      const result = await store.add(createRelease({ policy: part, identifier: who, cost, now }, own))
      if (source === 'store') this.#replica.copy(part, who, result)
      return result
    })
    await this.#awaitOperation(released).catch(() => {})
  }

  /** Deletes counters. Rejects when the store does. */
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

  #acceptResult(request: AcquireRequest, result: CounterResult, turn: Turn): Decision | Promise<Decision> {
    const { policy, identifier, cost } = request
    if (!turn.hasAnswer) {
      turn.hasAnswer = true
      this.#accessFor(policy).breaker.recordSuccess()
      this.#observer.onStoreResponse?.(performance.now() - turn.sentAt)
    }
    this.#replica.trackGeneration(this.store.generation)
    if (this.#replica.applyResult(policy, identifier, result, cost))
      return createDecision(policy, result, cost, 'store')
    return this.#restoreCounts(request, result)
  }

  /**
   * Restores the counts that the store has lost and decides by what is remembered here; by the store's result where an
   * operator had adjusted them.
   */
  #restoreCounts(request: AcquireRequest, result: CounterResult): Promise<Decision> {
    const { policy, identifier, cost } = request
    const own = this.#acquireLocally({ policy, identifier, cost, now: result.now })
    const decideLocally = (): Decision => createDecision(policy, own, cost, 'local')
    const raised = queryShares(policy, identifier, (part, who, share) =>
      this.store.raise(part, who, (share === undefined ? own : resultOfShare(share, own)).counters, own.now),
    )
    return this.#accessFor(policy).deadline.race(Promise.resolve(raised), null, {
      onResult: (_, restored) => {
        if (this.#replica.isAdjusted(policy, own, restored)) {
          this.#copyShares(policy, identifier, restored)
          return createDecision(policy, result, cost, 'store')
        }
        this.#observer.onCountersRestored?.()
        return decideLocally()
      },
      onError: (_, error) => {
        this.#observer.onStoreError?.(error)
        return decideLocally()
      },
      onTimeout: decideLocally,
    })
  }

  #copyShares(policy: Policy, identifier: Identifier, result: CounterResult): void {
    void queryShares(policy, identifier, (part, who, share) => {
      const own = share === undefined ? result : resultOfShare(share, result)
      this.#replica.copy(part, who, own)
      return own
    })
  }

  #recordFailure({ policy, now }: AcquireRequest, turn: Turn): void {
    this.#replica.suspectLoss()
    this.#accessFor(policy).breaker.recordFailure(now, turn)
  }

  #decideWithoutStore(request: AcquireRequest): Decision {
    const { policy, now } = request
    if (policy.failureMode === 'local') return this.#decideLocally({ ...request, policy: selectLocalPolicies(policy) })
    if (policy.failureMode === 'open') return createUncountedDecision(policy, true, now, 0)
    const waitMs = this.#accessFor(policy).breaker.waitMs(now)
    return createUncountedDecision(policy, false, now, Math.max(1, Math.ceil(waitMs / 1000)))
  }

  #decideLocally(request: AcquireRequest): Decision {
    const { policy, cost, now } = request
    return createDecision(policy, this.#acquireLocally({ ...request, now: this.#time(now) }), cost, 'local')
  }

  /** Acquires by what this process remembers: the results of the store, and what the store has counted here itself. */
  #acquireLocally({ policy, identifier, cost, now }: AcquireRequest): CounterResult {
    const { memory } = this.#replica
    if (this.store.recall !== undefined) {
      for (const part of partsOf(policy)) {
        const subject = countedIdentifier(part, identifier)
        const known = this.store.recall(part, subject, now)
        if (known !== undefined) memory.raise(part, subject, known, now)
      }
    }
    if (isMixed(policy)) return acquireByShares(memory, { policy, identifier, cost, now }) as CounterResult
    return memory.acquire({ policy, identifier: countedIdentifier(policy, identifier), cost, now })
  }

  #accessFor(policy: Policy): StoreAccess {
    return policy.failureMode === 'closed' ? this.#access.fail_closed : this.#access.standard
  }

  #time(now: number): number {
    return this.store.time?.(now) ?? now
  }

  #awaitOperation<T>(operation: T | Promise<T>): Promise<T> {
    return this.#access.fail_closed.deadline.race(Promise.resolve(operation), null, {
      onResult: (_, value) => value,
      onError(_, error) {
        throw error
      },
      onTimeout() {
        throw new Error('the counter store did not respond in time')
      },
    })
  }
}

/** A store decides on a request of cost 1; a higher cost is checked by the counters, or by `waitMs`. */
function checkAtCost(policy: Policy, result: CounterResult, cost: number): CounterResult {
  return cost === 1 ? result : checkByCounters(policy, result, cost)
}

function checkByCounters({ rules }: Policy, result: CounterResult, cost: number): CounterResult {
  const violated = findViolations(rules, result, cost)
  return { ...result, allowed: (result.waitMs ?? 0) === 0 && isAllowed(rules, violated), violated }
}

/** The policies of a combination that this process counts while the store is unavailable: `open` ones admit uncounted. */
function selectLocalPolicies(policy: Policy): Policy {
  const { parts } = policy
  if (parts === undefined || parts.every(({ failureMode }) => failureMode === 'local')) return policy
  return combinePolicies(parts.filter(({ failureMode }) => failureMode === 'local'))
}
