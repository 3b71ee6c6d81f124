import { countedIdentifier, partsOf } from '../combination/combine.ts'
import { acquireInTurn, rejectAtCost } from '../combination/in-turn.ts'
import { createRelease, joinResults } from '../combination/results.ts'
import { divideIntoShares } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import {
  type AcquireRequest,
  type AddRequest,
  type Completion,
  type CounterResult,
  type CounterStore,
  startAdd,
} from '../store.ts'
import { HotKeyCounter } from './hot-key-counter.ts'
import { Lease } from './lease.ts'

/** Options of {@link hotKeyStore}. */
export interface HotKeysOptions {
  /** Checks of one identifier per second, in this process, that make it hot; below half of that it cools down. Default 500. */
  readonly perSecond?: number
  /** Number of processes that share the limits, or a function that returns it. Default 4. */
  readonly instances?: number | (() => number)
  /** Interval of maintenance in milliseconds. Default 100; 0 leaves it to calls of `maintain`. */
  readonly intervalMs?: number
}

/** A store that finds hot keys by itself, and calls the shared store once for many of their checks. */
export interface HotKeyStore extends CounterStore {
  /** Number of keys that are hot at this moment. */
  readonly hotKeys: number
  /** Returns unused units; every tenth call reviews which keys are hot. */
  maintain(): void
  /** Returns all leased units; resolves when the shared store has received them. */
  close(): Promise<void>
}

const callsPerReview = 10
const defaultIntervalMs = 100
const maxLeases = 64

/**
 * Puts leases of hot keys before a shared store: each process acquires many units in one call and spends them by itself, so
 * that one identifier that is checked everywhere does not overload one server. A key that cools down is checked one by one
 * again. The limit is never exceeded. Policies with shards or shadow rules, advisory ones and those that fail closed are
 * passed on.
 *
 * @throws RangeError when `perSecond` is below 1
 * @example
 * const limiter = createLimiter({ store: hotKeyStore(redisStore(client), { instances: 8 }) })
 */
export function hotKeyStore(shared: CounterStore, options: HotKeysOptions = {}): HotKeyStore {
  return new LeaseStore(shared, options)
}

class LeaseStore implements HotKeyStore {
  readonly #shared: CounterStore
  readonly #perSecond: number
  readonly #instances: () => number
  readonly #intervalMs: number
  readonly #hotKeyCounter: HotKeyCounter
  readonly #leases = new Map<string, Lease>()
  #calls = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    shared: CounterStore,
    { perSecond = 500, instances = 4, intervalMs = defaultIntervalMs }: HotKeysOptions,
  ) {
    if (!(perSecond >= 1)) throw new RangeError(`perSecond must be a number from 1, got ${perSecond}`)
    this.#shared = shared
    this.#perSecond = perSecond
    this.#instances = typeof instances === 'number' ? () => instances : instances
    this.#intervalMs = intervalMs
    this.#hotKeyCounter = new HotKeyCounter(perSecond)
  }

  get hotKeys(): number {
    return this.#leases.size
  }

  get generation(): number | undefined {
    return this.#shared.generation
  }

  time(now: number): number {
    return this.#shared.time?.(now) ?? now
  }

  get combines(): boolean {
    return this.#shared.combines ?? false
  }

  acquire(request: AcquireRequest): CounterResult | Promise<CounterResult> {
    const { policy, identifier, cost, now } = request
    if (policy.parts !== undefined && policy.parts.length > 1) return this.#acquireParts(request)
    if (this.#leases.size > 0) {
      const lease = this.#leaseOf(policy, identifier)
      if (lease !== undefined) return lease.acquire(cost, this.time(now))
    }
    this.#sample(policy, identifier)
    return this.#shared.acquire(request)
  }

  /** Acquires from the leases of a combination's hot policies first, then from the shared store for all others. */
  #acquireParts(request: AcquireRequest): CounterResult | Promise<CounterResult> {
    const { policy, identifier, cost, now } = request
    const subjectOf = (part: Policy): Identifier => countedIdentifier(part, identifier)
    for (const part of partsOf(policy))
      if (this.#leaseOf(part, subjectOf(part)) === undefined) this.#sample(part, subjectOf(part))
    const leaseOf = (part: Policy) => (this.#leases.size > 0 ? this.#leaseOf(part, subjectOf(part)) : undefined)
    const shares = divideIntoShares(policy, leaseOf).toSorted(
      (a, b) => Number(leaseOf(a.policy) === undefined) - Number(leaseOf(b.policy) === undefined),
    )
    if (shares.length === 1 && leaseOf(policy) === undefined) return this.#shared.acquire(request)
    const results = acquireInTurn(shares, {
      acquire: ({ policy: part }) =>
        leaseOf(part)?.acquire(cost, this.time(now)) ??
        this.#shared.acquire({ ...request, policy: part, identifier: subjectOf(part) }),
      release: ({ policy: part }, acquired) => {
        const lease = leaseOf(part)
        if (lease !== undefined) return lease.refund(cost, acquired)
        return this.#shared.add(createRelease({ policy: part, identifier: subjectOf(part), cost, now }, acquired))
      },
      reject: ({ policy: part }) =>
        rejectAtCost(this.#shared, { ...request, policy: part, identifier: subjectOf(part) }),
    })
    if (results instanceof Promise) return results.then((settled) => joinResults(policy, shares, settled, cost))
    return joinResults(policy, shares, results, cost)
  }

  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): CounterResult | Promise<CounterResult> {
    return this.#shared.peek(policy, identifier, now, cost)
  }

  add(request: AddRequest): CounterResult | Promise<CounterResult> {
    this.#unblock(request)
    return this.#shared.add(request)
  }

  startAdd(request: AddRequest, completion: Completion): void {
    this.#unblock(request)
    startAdd(this.#shared, request, completion)
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult | Promise<CounterResult> {
    this.#leaseOf(policy, identifier)?.forget()
    return this.#shared.grant(policy, identifier, amount, now)
  }

  raise(
    policy: Policy,
    identifier: Identifier,
    counters: readonly number[],
    now: number,
  ): CounterResult | Promise<CounterResult> {
    return this.#shared.raise(policy, identifier, counters, now)
  }

  reset(policy: Policy, identifier: Identifier, now: number): void | Promise<void> {
    this.#leaseOf(policy, identifier)?.forget()
    return this.#shared.reset(policy, identifier, now)
  }

  maintain(): void {
    for (const lease of this.#leases.values()) lease.returnUnused()
    if (++this.#calls % callsPerReview > 0) return
    this.#endColdLeases()
    if (this.#hotKeyCounter.isEmpty && this.#leases.size === 0) this.#stopTimer()
    this.#startHotLeases()
  }

  async close(): Promise<void> {
    this.#stopTimer()
    const leases = [...this.#leases.values()]
    this.#leases.clear()
    await Promise.all(leases.map((lease) => lease.close()))
  }

  #endColdLeases(): void {
    for (const [id, lease] of this.#leases) {
      lease.rate = lease.checks
      lease.checks = 0
      if (lease.rate >= this.#perSecond / 2) continue
      this.#leases.delete(id)
      void lease.close()
    }
  }

  #startHotLeases(): void {
    for (const { policy, identifier, samples } of this.#hotKeyCounter.collectHot(this.#perSecond)) {
      if (this.#leases.size >= maxLeases || this.#leases.has(identifier.id)) continue
      const rate = Math.max(samples, this.#perSecond)
      const lease = new Lease(this.#shared, policy, identifier, { rate, instances: this.#instances })
      this.#leases.set(identifier.id, lease)
    }
  }

  #sample(policy: Policy, identifier: Identifier): void {
    if (!canBeLeased(policy)) return
    this.#hotKeyCounter.sample(policy, identifier)
    if (this.#timer === undefined && this.#intervalMs > 0)
      this.#timer = setInterval(() => this.maintain(), this.#intervalMs).unref()
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** After units are returned the store may admit a check that it would have rejected. */
  #unblock({ policy, identifier, amounts }: AddRequest): void {
    if (amounts.some((amount) => amount < 0)) this.#leaseOf(policy, identifier)?.unblock()
  }

  /** By its id; kind and policy are those of the first lease of that id. */
  #leaseOf(policy: Policy, { kind, id }: Identifier): Lease | undefined {
    const lease = this.#leases.get(id)
    return lease?.policy === policy && lease.identifier.kind === kind ? lease : undefined
  }
}

/** A lease needs one counter for each rule, which counts exactly and rejects. Policies that fail closed check one by one. */
function canBeLeased({ shards, advisory, failureMode, rules }: Policy): boolean {
  return shards === 1 && !advisory && failureMode !== 'closed' && rules.every(({ shadow }) => !shadow)
}
