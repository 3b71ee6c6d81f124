import { admits, remaining, waitMs } from '../algorithms/counters.ts'
import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'

interface WaitingCheck {
  readonly cost: number
  readonly resolve: (result: CounterResult) => void
  readonly reject: (error: unknown) => void
}

/** A portion is to last about so long at the rate it is used. */
const leaseSeconds = 0.02
/** How long a rejection is believed, lest a flood asks anew each time, or a grant elsewhere goes unnoticed. */
const maxBlockMs = 1_000
const minBlockMs = 10
/** A store that has not answered a request for a portion by then is asked again. */
const maxFetchMs = 1_000
/** So near to a window's end nothing is given back: it might reach the next window. */
const endMs = 50

/**
 * This process's sub-counter of a hot key: some requests at once are taken from the shared counter, and counted out here.
 * What the shared counter admits is never exceeded; what is not used is given back.
 */
export class Lease {
  readonly policy: Policy
  readonly identifier: Identifier
  readonly #store: CounterStore
  readonly #instances: () => number
  /** Requests per second, by which the size of a portion goes. */
  rate: number
  /** Checks since the last look at it. */
  seen = 0
  #left = 0
  /** The store's last answer. */
  #lastResult: CounterResult | undefined
  /** The end of the window that was taken from: what is left then is not carried over. */
  #until = 0
  #blockedUntil = 0
  #waiting: WaitingCheck[] = []
  #fetchingSince: number | undefined
  #used = false
  #closed = false

  constructor(
    store: CounterStore,
    policy: Policy,
    identifier: Identifier,
    options: { rate: number; instances: () => number },
  ) {
    this.#store = store
    this.policy = policy
    this.identifier = identifier
    this.rate = options.rate
    this.#instances = options.instances
  }

  /** Takes from what is left here, or waits for more. */
  acquire(cost: number, now: number): CounterResult | Promise<CounterResult> {
    this.seen++
    this.#used = true
    if (this.#lastResult !== undefined && now < this.#blockedUntil) return { ...this.#lastResult, now }
    if (now >= this.#until) this.#left = 0
    const spent = this.#waiting.length === 0 ? this.#spend(cost, now) : undefined
    if (spent !== undefined) return spent
    return new Promise((resolve, reject) => {
      this.#waiting.push({ cost, resolve, reject })
      const fetching = this.#fetchingSince !== undefined && performance.now() - this.#fetchingSince < maxFetchMs
      if (!fetching) void this.#fetch(now)
    })
  }

  /** Puts back what a request took that was refused elsewhere; what belongs to a window that has ended is gone. */
  refund(cost: number, result: CounterResult): CounterResult {
    const { rules } = this.policy
    const told = this.#lastResult?.now ?? Number.NaN
    const isOfNow = rules.every(
      ({ algorithm, windowMs }) =>
        algorithm === 'token-bucket' || windowIndex(result.now, windowMs) === windowIndex(told, windowMs),
    )
    if (isOfNow && this.#lastResult !== undefined) this.#left += cost
    return result
  }

  /** Gives back what was not used since the last call. */
  returnUnused(): void {
    if (!this.#used) void this.#returnUnits()
    this.#used = false
  }

  async #returnUnits(): Promise<void> {
    const left = this.#left
    this.#left = 0
    if (left === 0) return
    const now = this.#lastResult?.now ?? 0
    const time = this.#store.time?.(now) ?? now
    if (time < this.#until - endMs)
      await this.#addToStore(
        this.policy.rules.map(() => -left),
        time,
      )
  }

  /** Gives back what is left, and what is still on its way. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#returnUnits()
  }

  /** Forgets what was known: the shared counter was changed by hand. */
  forget(): void {
    this.#left = 0
    this.#lastResult = undefined
    this.#blockedUntil = 0
  }

  #spend(cost: number, now: number): CounterResult | undefined {
    if (this.#left < cost || this.#lastResult === undefined) return undefined
    this.#left -= cost
    const counters = this.#lastResult.counters.map((count, at) => {
      const isBucket = this.policy.rules[at >> 1]?.algorithm === 'token-bucket'
      if (isBucket) return at % 2 === 0 ? count + this.#left : count
      return at % 2 === 1 ? count - this.#left : count
    })
    return { allowed: true, violated: 0, counters, now }
  }

  /** At the end of the turn, for all that came meanwhile. */
  async #fetch(now: number): Promise<void> {
    const startedAt = performance.now()
    this.#fetchingSince = startedAt
    await undefined
    const waiting = this.#waiting
    this.#waiting = []
    const wanted = waiting.reduce((sum, { cost }) => sum + cost, 0)
    try {
      const left = await this.#serve(waiting, Math.max(wanted, this.#size(now)), now)
      // What is left in the shared counter is known now, and it is less than all wanted.
      const room = this.#room(now)
      const refused = left.length > 0 && room > 0 ? await this.#serve(left, room, now) : left
      this.#refuse(refused)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    if (this.#closed) void this.#returnUnits()
    if (this.#fetchingSince === startedAt) this.#fetchingSince = undefined
    if (this.#waiting.length > 0 && this.#fetchingSince === undefined) void this.#fetch(now)
  }

  /** Takes a portion of that size for those who wait, in their order; answers who is left. */
  async #serve(waiting: readonly WaitingCheck[], size: number, now: number): Promise<WaitingCheck[]> {
    const { policy, identifier } = this
    const most = Math.min(size, ...policy.rules.map(({ limit }) => limit))
    const result = await this.#store.acquire(policy, identifier, most, now)
    // What was too little, or was put back meanwhile, is of the same window, or gone with it.
    if (result.now >= this.#until) this.#left = 0
    this.#applyResult(result, most)
    if (result.allowed) this.#left += most
    const left = waiting.filter((waiter) => !this.#settle(waiter, result.now))
    while (this.#waiting[0] !== undefined && this.#settle(this.#waiting[0], result.now)) this.#waiting.shift()
    return left
  }

  #settle({ cost, resolve }: WaitingCheck, now: number): boolean {
    const spent = this.#spend(cost, now)
    if (spent !== undefined) resolve(spent)
    return spent !== undefined
  }

  /** Nothing is left for these, by the store's last answer; where it would admit them after all, each asks for itself. */
  #refuse(waiting: readonly WaitingCheck[]): void {
    const told = this.#lastResult
    for (const { cost, resolve, reject } of waiting) {
      if (told !== undefined && this.#room(told.now) < cost) resolve({ ...told, ...this.#checkRules(told, cost) })
      else
        Promise.resolve(this.#store.acquire(this.policy, this.identifier, cost, told?.now ?? 0)).then(resolve, reject)
    }
  }

  /** A share of half of what is left, so that others find something too. */
  #size(now: number): number {
    const share = Math.floor(this.#room(now) / (2 * this.#instances()))
    return this.#lastResult === undefined ? 1 : Math.min(Math.ceil(this.rate * leaseSeconds), share)
  }

  /** What the store's last answer leaves to take, not counting what is held here. */
  #room(now: number): number {
    const { counters } = this.#lastResult ?? { counters: [] }
    const room = this.policy.rules.map((rule, i) =>
      remaining(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, now),
    )
    return Math.min(...room)
  }

  /** Which rules a request of `cost` violates, by these counters. */
  #checkRules({ counters, now }: CounterResult, cost: number): Pick<CounterResult, 'allowed' | 'violated'> {
    const violated = this.policy.rules.reduce(
      (bits, rule, i) =>
        admits(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, cost, now) ? bits : bits | (1 << i),
      0,
    )
    return { allowed: false, violated }
  }

  #applyResult(result: CounterResult, size: number): void {
    const { now } = result
    const told = result.allowed ? result : this.#returnRejected(result, size)
    this.#lastResult = told
    const ends = this.policy.rules.map((rule) =>
      rule.algorithm === 'token-bucket'
        ? Number.POSITIVE_INFINITY
        : now - elapsedMs(now, rule.windowMs) + rule.windowMs,
    )
    this.#until = Math.min(...ends)
    const waits = this.policy.rules.map((rule, i) =>
      waitMs(rule, told.counters[2 * i] ?? 0, told.counters[2 * i + 1] ?? 0, 1, now),
    )
    const wait = result.allowed ? 0 : Math.max(...waits)
    const blockMs = wait === 0 ? 0 : Math.max(minBlockMs, Math.min(maxBlockMs, wait))
    this.#blockedUntil = Math.min(this.#until, now + blockMs)
  }

  /** A fixed window counts what it rejects. A portion that was too large was no request, and is taken out again. */
  #returnRejected(refused: CounterResult, size: number): CounterResult {
    const counted = this.policy.rules.map((rule, i) =>
      rule.algorithm === 'fixed-window' && (refused.violated & (1 << i)) !== 0 ? size : 0,
    )
    if (counted.every((amount) => amount === 0)) return refused
    void this.#addToStore(
      counted.map((amount) => -amount),
      refused.now,
    )
    return { ...refused, counters: refused.counters.map((count, at) => count - (at % 2 ? (counted[at >> 1] ?? 0) : 0)) }
  }

  async #addToStore(amounts: readonly number[], now: number): Promise<void> {
    try {
      await this.#store.add(this.policy, this.identifier, amounts, now)
    } catch {
      // What can't be given back has been used up; nobody gets more for it.
    }
  }
}
