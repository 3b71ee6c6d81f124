import { findViolations, maxWaitMs, remaining } from '../algorithms/counters.ts'
import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'

interface WaitingCheck {
  readonly cost: number
  readonly resolve: (result: CounterResult) => void
  readonly reject: (error: unknown) => void
}

/** The leased units should last about that long at the current rate. */
const leaseSeconds = 0.02
/** How long a rejection is repeated without a call: not longer, to notice grants of other processes. */
const maxBlockMs = 1_000
/** Not shorter, so that a flood does not call the store for every check. */
const minBlockMs = 10
/** A call that has no answer after that is made again. */
const maxFetchMs = 1_000
/** Nothing is returned so close to the end of a window: it might arrive in the next one. */
const windowEndMs = 50

/**
 * This process's lease of a hot key: units acquired from the shared counter in one call and spent here. Never admits more
 * than the shared counter does; unused units are returned.
 */
export class Lease {
  readonly policy: Policy
  readonly identifier: Identifier
  readonly #store: CounterStore
  readonly #instances: () => number
  /** Requests per second, which determine how many units are leased. */
  rate: number
  /** Checks since the last review. */
  checks = 0
  #left = 0
  /** The store's last result. */
  #last: CounterResult | undefined
  /** End of the window that the units belong to: unspent ones are not carried over. */
  #expiresAt = 0
  #blockedUntil = 0
  #waiting: WaitingCheck[] = []
  #fetchingSince: number | undefined
  #isUsed = false
  #isClosed = false

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

  /** Spends leased units, or waits for more. */
  acquire(cost: number, now: number): CounterResult | Promise<CounterResult> {
    this.checks++
    this.#isUsed = true
    const blockedMs = this.#blockedUntil - now
    // More is left only where the clock went back.
    if (this.#last !== undefined && blockedMs > 0 && blockedMs <= maxBlockMs) return { ...this.#last, now }
    if (now >= this.#expiresAt) this.#left = 0
    const spent = this.#waiting.length === 0 ? this.#spend(cost, now) : undefined
    if (spent !== undefined) return spent
    return new Promise((resolve, reject) => {
      this.#waiting.push({ cost, resolve, reject })
      const isFetching = this.#fetchingSince !== undefined && performance.now() - this.#fetchingSince < maxFetchMs
      if (!isFetching) void this.#fetch(now)
    })
  }

  /** Returns units to the lease after another policy has rejected, unless their window has ended. */
  refund(cost: number, result: CounterResult): CounterResult {
    const lastNow = this.#last?.now ?? Number.NaN
    const isSameWindow = this.policy.rules.every(
      ({ algorithm, windowMs }) =>
        algorithm === 'token-bucket' || windowIndex(result.now, windowMs) === windowIndex(lastNow, windowMs),
    )
    if (isSameWindow && this.#last !== undefined) this.#left += cost
    return result
  }

  /** Returns the units to the store when none was used since the last call. */
  returnUnused(): void {
    if (!this.#isUsed) void this.#returnUnits()
    this.#isUsed = false
  }

  /** Returns what is left, and what a call under way will bring. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#returnUnits()
  }

  /** Ends the repetition of a rejection: units have been returned to the shared counter. Those leased here stay so. */
  unblock(): void {
    this.#blockedUntil = 0
  }

  /** Forgets the counters: an operator has changed them. */
  forget(): void {
    this.#left = 0
    this.#last = undefined
    this.#blockedUntil = 0
  }

  async #returnUnits(): Promise<void> {
    const left = this.#left
    this.#left = 0
    if (left === 0) return
    const now = this.#last?.now ?? 0
    const time = this.#store.time?.(now) ?? now
    if (time >= this.#expiresAt - windowEndMs) return
    const amounts = this.policy.rules.map(() => -left)
    await this.#addToStore(amounts, time)
  }

  #spend(cost: number, now: number): CounterResult | undefined {
    if (this.#left < cost || this.#last === undefined) return undefined
    this.#left -= cost
    const counters = this.#last.counters.map((count, at) => {
      const isBucket = this.policy.rules[at >> 1]?.algorithm === 'token-bucket'
      if (isBucket) return at % 2 === 0 ? count + this.#left : count
      return at % 2 === 1 ? count - this.#left : count
    })
    return { allowed: true, violated: 0, counters, now }
  }

  /** Leases units at the end of the turn, for all checks that have arrived by then. */
  async #fetch(now: number): Promise<void> {
    const startedAt = performance.now()
    this.#fetchingSince = startedAt
    await undefined
    const waiting = this.#waiting
    this.#waiting = []
    const wanted = waiting.reduce((sum, { cost }) => sum + cost, 0)
    try {
      const left = await this.#serve(waiting, Math.max(wanted, this.#leaseSize(now)), now)
      // The result tells what is left in the shared counter, which is less than all that was wanted.
      const room = this.#room(now)
      const rejected = left.length > 0 && room > 0 ? await this.#serve(left, room, now) : left
      this.#rejectAll(rejected)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    if (this.#isClosed) void this.#returnUnits()
    if (this.#fetchingSince === startedAt) this.#fetchingSince = undefined
    if (this.#waiting.length > 0 && this.#fetchingSince === undefined) void this.#fetch(now)
  }

  /** Leases `size` units for the waiting checks, in their order; returns those that got none. */
  async #serve(waiting: readonly WaitingCheck[], size: number, now: number): Promise<WaitingCheck[]> {
    const { policy, identifier } = this
    const cost = Math.min(size, ...policy.rules.map(({ limit }) => limit))
    const result = await this.#store.acquire({ policy, identifier, cost, now })
    // Units that were left or refunded meanwhile belong to the same window, or have expired with it.
    if (result.now >= this.#expiresAt) this.#left = 0
    this.#applyResult(result, cost)
    if (result.allowed) this.#left += cost
    const left = waiting.filter((check) => !this.#settle(check, result.now))
    while (this.#waiting[0] !== undefined && this.#settle(this.#waiting[0], result.now)) this.#waiting.shift()
    return left
  }

  #settle({ cost, resolve }: WaitingCheck, now: number): boolean {
    const spent = this.#spend(cost, now)
    if (spent !== undefined) resolve(spent)
    return spent !== undefined
  }

  /** Rejects by the store's last result; where that would admit a check, it calls the store by itself. */
  #rejectAll(waiting: readonly WaitingCheck[]): void {
    const { policy, identifier } = this
    const last = this.#last
    for (const { cost, resolve, reject } of waiting) {
      if (last !== undefined && this.#room(last.now) < cost)
        resolve({ ...last, allowed: false, violated: findViolations(policy.rules, last, cost) })
      else Promise.resolve(this.#store.acquire({ policy, identifier, cost, now: last?.now ?? 0 })).then(resolve, reject)
    }
  }

  /** This process's share of half of what is left, so that other processes find some too. */
  #leaseSize(now: number): number {
    const share = Math.floor(this.#room(now) / (2 * this.#instances()))
    return this.#last === undefined ? 1 : Math.min(Math.ceil(this.rate * leaseSeconds), share)
  }

  /** Units that the store's last result leaves, without those leased here. */
  #room(now: number): number {
    const counters = this.#last?.counters ?? []
    return Math.min(...this.policy.rules.map((rule, i) => remaining(rule, { counters, now }, i)))
  }

  #applyResult(result: CounterResult, size: number): void {
    const { now } = result
    const { rules } = this.policy
    const last = result.allowed ? result : this.#returnCounted(result, size)
    this.#last = last
    const ends = rules.map((rule) =>
      rule.algorithm === 'token-bucket'
        ? Number.POSITIVE_INFINITY
        : now - elapsedMs(now, rule.windowMs) + rule.windowMs,
    )
    this.#expiresAt = Math.min(...ends)
    const wait = result.allowed ? 0 : maxWaitMs(rules, last, 1)
    const blockMs = wait === 0 ? 0 : Math.max(minBlockMs, Math.min(maxBlockMs, wait))
    this.#blockedUntil = Math.min(this.#expiresAt, now + blockMs)
  }

  /** A fixed window counts what it rejects. A lease that was too large was no request, so its units are returned. */
  #returnCounted(rejected: CounterResult, size: number): CounterResult {
    const counted = this.policy.rules.map((rule, i) =>
      rule.algorithm === 'fixed-window' && (rejected.violated & (1 << i)) !== 0 ? size : 0,
    )
    if (counted.every((amount) => amount === 0)) return rejected
    const amounts = counted.map((amount) => -amount)
    void this.#addToStore(amounts, rejected.now)
    const counters = rejected.counters.map((count, at) => count - (at % 2 ? (counted[at >> 1] ?? 0) : 0))
    return { ...rejected, counters }
  }

  async #addToStore(amounts: readonly number[], now: number): Promise<void> {
    try {
      await this.#store.add({ policy: this.policy, identifier: this.identifier, amounts, now })
    } catch {
      // Units that cannot be returned are used up: the limit still holds.
    }
  }
}
