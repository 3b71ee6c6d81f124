import { countedIdentifier, partsOf } from '../combination/combine.ts'
import { acquireInTurn, divideIntoShares, joinResults, type Request, releaseAmounts } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import { type Completion, type CounterResult, type CounterStore, startAdd } from '../store.ts'
import { HotKeyCounter } from './hot-key-counter.ts'
import { Lease } from './lease.ts'

export interface HotKeysOptions {
  /** Checks of one identifier in a second, in this process, from which on it is hot; below half of it it is not any more. Default 500. */
  readonly perSecond?: number
  /** How many processes share the limits, by number or as counted at this moment. Default 4. */
  readonly instances?: number | (() => number)
  /** How often portions are looked at, in milliseconds. Default 100; 0 leaves it to calls of `look`. */
  readonly intervalMs?: number
}

/** A store that finds hot keys by itself, and asks the shared store about them once for many checks. */
export interface HotKeyStore extends CounterStore {
  /** Keys that are hot at this moment. */
  readonly hotKeys: number
  /** Gives back what is not used; every tenth call decides anew what is hot. */
  maintain(): void
  /** Gives back what is left; resolves when the shared store has heard it. */
  close(): Promise<void>
}

const callsPerPeriod = 10
const defaultIntervalMs = 100
const maxLeases = 64

/**
 * Splits the counter of a hot key by itself: each process takes a portion from the shared counter and counts it out, so
 * that one identifier asked for from everywhere does not wear out one server, and goes back to single checks when it cools
 * down. The limit is never exceeded. Policies that are split by setting, advisory, closed, or on
 * trial are passed on.
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
    if (!(perSecond >= 1)) throw new RangeError(`perSecond is a number from 1, not ${perSecond}`)
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

  acquire(
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): CounterResult | Promise<CounterResult> {
    if (policy.parts !== undefined && policy.parts.length > 1)
      return this.#acquireParts(policy, identifier, { cost, now, withinMs })
    if (this.#leases.size > 0) {
      const portion = this.#leaseOf(policy, identifier)
      if (portion !== undefined) return portion.acquire(cost, this.time(now))
    }
    this.#sample(policy, identifier)
    return this.#shared.acquire(policy, identifier, cost, now, withinMs)
  }

  /** Policies of a combination that are hot for whom they count are taken from their portions first, the rest together. */
  #acquireParts(
    policy: Policy,
    identifier: Identifier,
    { cost, now, withinMs }: Request,
  ): CounterResult | Promise<CounterResult> {
    const who = (part: Policy): Identifier => countedIdentifier(part, identifier)
    for (const part of partsOf(policy)) if (this.#leaseOf(part, who(part)) === undefined) this.#sample(part, who(part))
    const hot = (part: Policy) => (this.#leases.size > 0 ? this.#leaseOf(part, who(part)) : undefined)
    const all = divideIntoShares(policy, hot).toSorted(
      (a, b) => Number(hot(a.policy) === undefined) - Number(hot(b.policy) === undefined),
    )
    if (all.length === 1 && hot(policy) === undefined)
      return this.#shared.acquire(policy, identifier, cost, now, withinMs)
    const answers = acquireInTurn(all, {
      take: (share) =>
        hot(share.policy)?.acquire(cost, this.time(now)) ??
        this.#shared.acquire(share.policy, who(share.policy), cost, now, withinMs),
      giveBack: (share, result) => {
        const portion = hot(share.policy)
        if (portion !== undefined) return portion.refund(cost, result)
        return this.#shared.add(
          share.policy,
          who(share.policy),
          releaseAmounts(share.policy, result, cost),
          now,
          result.now,
        )
      },
      peek: (share) => this.#shared.peek(share.policy, who(share.policy), now, cost),
    })
    if (answers instanceof Promise) return answers.then((settled) => joinResults(policy, all, settled, cost))
    return joinResults(policy, all, answers, cost)
  }

  #sample(policy: Policy, identifier: Identifier): void {
    if (!canBeSplit(policy)) return
    this.#hotKeyCounter.sample(policy, identifier)
    if (this.#timer === undefined && this.#intervalMs > 0)
      this.#timer = setInterval(() => this.maintain(), this.#intervalMs).unref()
  }

  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): CounterResult | Promise<CounterResult> {
    return this.#shared.peek(policy, identifier, now, cost)
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then?: number,
  ): CounterResult | Promise<CounterResult> {
    this.#leaseOf(policy, identifier)?.forget()
    return this.#shared.add(policy, identifier, amounts, now, then)
  }

  startAdd(waiter: Completion, policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): void {
    this.#leaseOf(policy, identifier)?.forget()
    startAdd(this.#shared, waiter, policy, identifier, amounts, now)
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
    for (const portion of this.#leases.values()) portion.returnUnused()
    if (++this.#calls % callsPerPeriod > 0) return
    for (const [id, portion] of this.#leases) {
      portion.rate = portion.seen
      portion.seen = 0
      if (portion.rate >= this.#perSecond / 2) continue
      this.#leases.delete(id)
      void portion.close()
    }
    if (this.#hotKeyCounter.isEmpty && this.#leases.size === 0) this.#stopTimer()
    for (const { policy, identifier, seen } of this.#hotKeyCounter.takeHot(this.#perSecond)) {
      if (this.#leases.size >= maxLeases || this.#leases.has(identifier.id)) continue
      const rate = Math.max(seen, this.#perSecond)
      this.#leases.set(identifier.id, new Lease(this.#shared, policy, identifier, { rate, instances: this.#instances }))
    }
  }

  async close(): Promise<void> {
    this.#stopTimer()
    const portions = [...this.#leases.values()]
    this.#leases.clear()
    await Promise.all(portions.map((portion) => portion.close()))
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** By its id, the kind and policy being those of the first that was hot under it. */
  #leaseOf(policy: Policy, { kind, id }: Identifier): Lease | undefined {
    const portion = this.#leases.get(id)
    return portion?.policy === policy && portion.identifier.kind === kind ? portion : undefined
  }
}

/** What portions suit: one counter for each rule, which counts exactly and rejects. What fails closed asks for each check. */
function canBeSplit({ shards, advisory, failureMode, rules }: Policy): boolean {
  return shards === 1 && !advisory && failureMode !== 'closed' && rules.every(({ shadow }) => !shadow)
}
