import type { Counters } from './algorithms/counters.ts'
import type { Identifier } from './key.ts'
import type { Policy } from './policy.ts'

/**
 * What a store answers. `counters` holds two numbers for each rule, in the policy's order, as they are after the call:
 * the counts of the previous and of the current window; for a token bucket its tokens and their time, refilled to `now`.
 */
export interface CounterResult extends Counters {
  readonly allowed: boolean
  /** Bit i is set when rule i was violated, for shadow rules too. */
  readonly violated: number
  /** Milliseconds until a lone request like this one is admitted, where `counters` is not enough to compute it. */
  readonly waitMs?: number
  /** The sub-counter that each rule's units were acquired from, where the rule has several. */
  readonly shards?: Shards | undefined
}

/** An index for each rule that is counted in one of several sub-counters. */
export type Shards = readonly (number | undefined)[]

/** A request for units of every rule of a policy. */
export interface AcquireRequest {
  readonly policy: Policy
  readonly identifier: Identifier
  /** Units, an integer from 1 to 2,147,483,647. */
  readonly cost: number
  /** Unix milliseconds. */
  readonly now: number
  /** Milliseconds after which the caller rejects by itself: a remote store then counts nothing, and fails. */
  readonly withinMs?: number | undefined
}

/** Amounts to add to the current counts of a policy's rules. */
export interface AddRequest {
  readonly policy: Policy
  readonly identifier: Identifier
  /** One for each rule; below zero returns units (to a bucket: tokens, up to its capacity). */
  readonly amounts: readonly number[]
  /** Unix milliseconds. */
  readonly now: number
  /** A time in the window that the amounts belong to, by the clock of the store (`time`). Default: the current time. */
  readonly countedAt?: number | undefined
  /** The sub-counters that the amounts belong to, as the result names them that acquired these. Default: equal parts to all. */
  readonly shards?: Shards | undefined
}

/** The error of a call that is known to have counted nothing, so that its units may be sent again. */
export class NotCountedError extends Error {
  override readonly name = 'NotCountedError'
}

/** Receives the result of a call, exactly once. */
export interface Completion {
  /** Called with the result of the request. */
  resolve(result: CounterResult): void
  /** Called with the error of the store. */
  reject(error: unknown): void
}

/**
 * Keeps counters. Every method is one atomic step. A policy may be a combination of several (`combinePolicies`); one that
 * has rules counting all identifiers together beside others is passed only to `acquire` and `peek`, and only when
 * `combines` is true. A store in this process returns results, another one promises; it neither retries nor queues calls
 * while its server is unavailable. Times are Unix milliseconds.
 */
export interface CounterStore {
  /** Acquires `cost` from every rule or from none. Shadow rules never reject. */
  acquire(request: AcquireRequest): CounterResult | Promise<CounterResult>
  /**
   * As `acquire` of a request that the store decides at once; undefined, with nothing changed, where it cannot. Without an
   * object for the request: most checks of a process are decided here.
   */
  acquireAtOnce?(policy: Policy, identifier: Identifier, cost: number, now: number): CounterResult | undefined
  /** As `acquire`, without a promise for each check, which is expensive. Reports to `completion` unless it throws. */
  startAcquire?(request: AcquireRequest, completion: Completion): void
  /**
   * Reads without acquiring: `allowed` is whether a request of cost 1 would be. `waitMs`, where it is set, is that of a
   * request of `cost` (default 1).
   */
  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): CounterResult | Promise<CounterResult>
  /** Adds to counters whatever the limits. Fails with a {@link NotCountedError} where it is sure that nothing was added. */
  add(request: AddRequest): CounterResult | Promise<CounterResult>
  /** As `add`, without a promise. Reports to `completion` unless it throws. */
  startAdd?(request: AddRequest, completion: Completion): void
  /** An operator's grant: returns `amount` units of every rule, and no `raise` undoes it. */
  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult | Promise<CounterResult>
  /**
   * Raises the counts of windows to at least `counters`, and lowers a bucket to at most its tokens there, so that any
   * number of processes may repeat it. Changes nothing for an identifier that had a grant or a reset within the lifetime
   * of the policy's longest counter: counts that are missing then were not lost. `now` is the time of `counters`, by the
   * clock of the store (`time`): that of a result.
   */
  raise(
    policy: Policy,
    identifier: Identifier,
    counters: readonly number[],
    now: number,
  ): CounterResult | Promise<CounterResult>
  /** Deletes the identifier's counters of these rules; no `raise` restores them. */
  reset(policy: Policy, identifier: Identifier, now: number): void | Promise<void>
  /** The time that this store counts by, where it is not that of the limiter. */
  time?(now: number): number
  /**
   * The counters that the store knows without a call, of a policy that it counts in this process; undefined where it knows
   * none. A limiter whose store is unavailable continues from them.
   */
  recall?(policy: Policy, identifier: Identifier, now: number): readonly number[] | undefined
  /** Whether rules of a policy that have a `subject` are counted for it, in the same step as the others. */
  readonly combines?: boolean
  /** Grows when the store may have lost counters. */
  readonly generation?: number | undefined
}

/** Adds in whichever way the store offers, and reports to `completion`. */
export function startAdd(store: CounterStore, request: AddRequest, completion: Completion): void {
  if (store.startAdd === undefined) settle(completion, store.add(request))
  else store.startAdd(request, completion)
}

/** Reports a result to `completion`, at once or when it is available. */
export function settle(completion: Completion, result: CounterResult | Promise<CounterResult>): void {
  if (result instanceof Promise)
    result.then(
      (value) => completion.resolve(value),
      (error) => completion.reject(error),
    )
  else completion.resolve(result)
}
