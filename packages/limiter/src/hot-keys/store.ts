import { countedBy, partsOf } from '../combination/combine.ts'
import { joined, type Request, shares, takeInTurn, takenBack } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import { addFor, type CounterStore, type Taken, type Waiter } from '../store.ts'
import { Heat } from './hot-key-counter.ts'
import { Portion } from './lease.ts'

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
  look(): void
  /** Gives back what is left; resolves when the shared store has heard it. */
  close(): Promise<void>
}

const looksAPeriod = 10
const lookMs = 100
const mostHot = 64

/**
 * Splits the counter of a hot key by itself: each process takes a portion from the shared counter and counts it out, so
 * that one identifier asked for from everywhere does not wear out one server, and goes back to single checks when it cools
 * down. The limit is never exceeded. Policies that are split by setting, advisory, closed, or on
 * trial are passed on.
 */
export function hotKeyStore(shared: CounterStore, options: HotKeysOptions = {}): HotKeyStore {
  return new PortionStore(shared, options)
}

class PortionStore implements HotKeyStore {
  readonly #shared: CounterStore
  readonly #perSecond: number
  readonly #instances: () => number
  readonly #intervalMs: number
  readonly #heat: Heat
  readonly #portions = new Map<string, Portion>()
  #looks = 0
  #timer: NodeJS.Timeout | undefined

  constructor(shared: CounterStore, { perSecond = 500, instances = 4, intervalMs = lookMs }: HotKeysOptions) {
    if (!(perSecond >= 1)) throw new RangeError(`perSecond is a number from 1, not ${perSecond}`)
    this.#shared = shared
    this.#perSecond = perSecond
    this.#instances = typeof instances === 'number' ? () => instances : instances
    this.#intervalMs = intervalMs
    this.#heat = new Heat(perSecond)
  }

  get hotKeys(): number {
    return this.#portions.size
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

  take(policy: Policy, identifier: Identifier, cost: number, now: number, withinMs?: number): Taken | Promise<Taken> {
    if (policy.parts !== undefined && policy.parts.length > 1)
      return this.#takeParts(policy, identifier, { cost, now, withinMs })
    if (this.#portions.size > 0) {
      const portion = this.#portionOf(policy, identifier)
      if (portion !== undefined) return portion.take(cost, this.time(now))
    }
    this.#note(policy, identifier)
    return this.#shared.take(policy, identifier, cost, now, withinMs)
  }

  /** Policies of a combination that are hot for whom they count are taken from their portions first, the rest together. */
  #takeParts(policy: Policy, identifier: Identifier, { cost, now, withinMs }: Request): Taken | Promise<Taken> {
    const who = (part: Policy): Identifier => countedBy(part, identifier)
    for (const part of partsOf(policy)) if (this.#portionOf(part, who(part)) === undefined) this.#note(part, who(part))
    const hot = (part: Policy) => (this.#portions.size > 0 ? this.#portionOf(part, who(part)) : undefined)
    const all = shares(policy, hot).toSorted(
      (a, b) => Number(hot(a.policy) === undefined) - Number(hot(b.policy) === undefined),
    )
    if (all.length === 1 && hot(policy) === undefined) return this.#shared.take(policy, identifier, cost, now, withinMs)
    const answers = takeInTurn(all, {
      take: (share) =>
        hot(share.policy)?.take(cost, this.time(now)) ??
        this.#shared.take(share.policy, who(share.policy), cost, now, withinMs),
      giveBack: (share, taken) => {
        const portion = hot(share.policy)
        if (portion !== undefined) return portion.refund(cost, taken)
        return this.#shared.add(share.policy, who(share.policy), takenBack(share.policy, taken, cost), now, taken.now)
      },
      peek: (share) => this.#shared.peek(share.policy, who(share.policy), now, cost),
    })
    if (answers instanceof Promise) return answers.then((settled) => joined(policy, all, settled, cost))
    return joined(policy, all, answers, cost)
  }

  #note(policy: Policy, identifier: Identifier): void {
    if (!canBeSplit(policy)) return
    this.#heat.note(policy, identifier)
    if (this.#timer === undefined && this.#intervalMs > 0)
      this.#timer = setInterval(() => this.look(), this.#intervalMs).unref()
  }

  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): Taken | Promise<Taken> {
    return this.#shared.peek(policy, identifier, now, cost)
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then?: number,
  ): Taken | Promise<Taken> {
    this.#portionOf(policy, identifier)?.forget()
    return this.#shared.add(policy, identifier, amounts, now, then)
  }

  addFor(waiter: Waiter, policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): void {
    this.#portionOf(policy, identifier)?.forget()
    addFor(this.#shared, waiter, policy, identifier, amounts, now)
  }

  give(policy: Policy, identifier: Identifier, amount: number, now: number): Taken | Promise<Taken> {
    this.#portionOf(policy, identifier)?.forget()
    return this.#shared.give(policy, identifier, amount, now)
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Taken | Promise<Taken> {
    return this.#shared.raise(policy, identifier, counters, now)
  }

  reset(policy: Policy, identifier: Identifier, now: number): void | Promise<void> {
    this.#portionOf(policy, identifier)?.forget()
    return this.#shared.reset(policy, identifier, now)
  }

  look(): void {
    for (const portion of this.#portions.values()) portion.rest()
    if (++this.#looks % looksAPeriod > 0) return
    for (const [id, portion] of this.#portions) {
      portion.rate = portion.seen
      portion.seen = 0
      if (portion.rate >= this.#perSecond / 2) continue
      this.#portions.delete(id)
      void portion.close()
    }
    if (this.#heat.isEmpty && this.#portions.size === 0) this.#rest()
    for (const { policy, identifier, seen } of this.#heat.take(this.#perSecond)) {
      if (this.#portions.size >= mostHot || this.#portions.has(identifier.id)) continue
      const rate = Math.max(seen, this.#perSecond)
      this.#portions.set(
        identifier.id,
        new Portion(this.#shared, policy, identifier, { rate, instances: this.#instances }),
      )
    }
  }

  async close(): Promise<void> {
    this.#rest()
    const portions = [...this.#portions.values()]
    this.#portions.clear()
    await Promise.all(portions.map((portion) => portion.close()))
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** By its id, the kind and policy being those of the first that was hot under it. */
  #portionOf(policy: Policy, { kind, id }: Identifier): Portion | undefined {
    const portion = this.#portions.get(id)
    return portion?.policy === policy && portion.identifier.kind === kind ? portion : undefined
  }
}

/** What portions suit: one counter for each rule, which counts exactly and rejects. What fails closed asks for each check. */
function canBeSplit({ shards, advisory, failureMode, rules }: Policy): boolean {
  return shards === 1 && !advisory && failureMode !== 'closed' && rules.every(({ shadow }) => !shadow)
}
