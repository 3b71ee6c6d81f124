import type { Identifier } from './key.ts'
import type { Policy } from './policy.ts'

/**
 * What a store answers. `counters` holds two numbers per rule, in the policy's order, as they are after the call:
 * count of the previous and of the current window; for a token bucket its tokens and their time, refilled to `now`.
 */
export interface CounterResult {
  readonly allowed: boolean
  /** Bit i is set when rule i was violated, shadow rules too. */
  readonly violated: number
  readonly counters: readonly number[]
  /** The time the store counted by, in Unix milliseconds. */
  readonly now: number
  /** Milliseconds until a lone request like this is admitted, where the counters alone do not tell. */
  readonly waitMs?: number
}

/** Waits for an answer that comes later, and is told it once. */
export interface Completion {
  resolve(result: CounterResult): void
  reject(error: unknown): void
}

/**
 * Keeps counters. Every method is one atomic step. Policies may be combinations of several (`combinePolicies`); those with
 * rules that count everyone beside others reach only `take` and `peek`, and only stores that say `combines`. A store that
 * keeps them in this process answers at once, another by a promise; it neither retries nor queues while its server is away.
 * `now` is Unix milliseconds.
 */
export interface CounterStore {
  /**
   * Takes `cost` from every rule or from none; shadow rules never hinder. The caller rejects the request when no answer
   * has come within `withinMs`: a store elsewhere then takes nothing later, and fails.
   */
  acquire(
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): CounterResult | Promise<CounterResult>
  /** As `take`, telling a waiter at any time unless it throws: a promise for every check is dear. */
  startAcquire?(
    waiter: Completion,
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): void
  /**
   * Reads without taking: `allowed` tells whether a request of cost 1 would be. Where `waitMs` is told, since the counters
   * alone do not tell, it is that of a request of `cost` (default 1).
   */
  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): CounterResult | Promise<CounterResult>
  /**
   * Adds `amounts[i]` to the current count of rule i; below zero takes back (to a bucket: tokens, up to its capacity).
   * `then` is a moment of an earlier window that they belong to, by the time this store counts by (`time`).
   */
  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then?: number,
  ): CounterResult | Promise<CounterResult>
  /** As `add` to the windows of this moment, telling a waiter at any time unless it throws. */
  startAdd?(waiter: Completion, policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): void
  /** An operator's gift: `amount` is taken back from the current count of every rule, and no `raise` undoes it. */
  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult | Promise<CounterResult>
  /**
   * Raises every window's counts to at least `counters`, and leaves a bucket no fuller than they say, so that any number
   * of tellers may repeat it. Changes nothing for an identifier that had a gift or a reset since the longest of the
   * policy's counters began: what a teller misses there was not lost.
   */
  raise(
    policy: Policy,
    identifier: Identifier,
    counters: readonly number[],
    now: number,
  ): CounterResult | Promise<CounterResult>
  /** Forgets the identifier's counters of these rules; no `raise` brings them back. */
  reset(policy: Policy, identifier: Identifier, now: number): void | Promise<void>
  /** The time this store counts by, when that is not the limiter's. */
  time?(now: number): number
  /** Whether rules of a policy that have a `subject` are counted for it, in the same step as the others. */
  readonly combines?: boolean
  /** Grows when the store may have lost counters. */
  readonly generation?: number | undefined
}

/** Adds by whichever way the store has, telling a waiter. */
export function startAdd(
  store: CounterStore,
  waiter: Completion,
  policy: Policy,
  identifier: Identifier,
  amounts: readonly number[],
  now: number,
): void {
  if (store.startAdd === undefined) settle(waiter, store.add(policy, identifier, amounts, now))
  else store.startAdd(waiter, policy, identifier, amounts, now)
}

/** Tells a waiter an answer, at once or when it is there. */
export function settle(waiter: Completion, result: CounterResult | Promise<CounterResult>): void {
  if (result instanceof Promise)
    result.then(
      (value) => waiter.resolve(value),
      (error) => waiter.reject(error),
    )
  else waiter.resolve(result)
}
