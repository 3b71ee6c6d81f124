import { windowIndex } from '../algorithms/window.ts'
import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterStore, Taken } from '../store.ts'
import { cell, Ledger, tail } from './ledger.ts'
import { allowance, blockMs, canBeHybrid, type Plan, roll, staleMs } from './plan.ts'
import { tellDirty } from './round.ts'
import { spend, stand } from './spend.ts'

export interface HybridOptions {
  /**
   * How many processes share the limits, by number or as counted at this moment (`redisPresence`). More than there are
   * costs speed, fewer cost accuracy.
   */
  readonly instances: number | (() => number)
  /** How often to reconcile, in milliseconds. Default 100; 0 leaves it to calls of `reconcile`. */
  readonly intervalMs?: number
  /** The most identifiers of one kind counted here; others are counted exactly. Default 500,000. */
  readonly maxKeys?: number
}

/** A store that counts advisory limits locally and tells the shared store about every 100 ms. */
export interface HybridStore extends CounterStore {
  /** Tells the shared store what was spent here; resolves when it has heard all of it. */
  reconcile(): Promise<void>
  /** Reconciles once more and stops. */
  close(): Promise<void>
}

/**
 * Puts local counting before a shared store, for policies marked advisory whose limits are large enough; everything else
 * goes through to the shared store.
 */
export function hybridStore(shared: CounterStore, options: HybridOptions): HybridStore {
  return new LedgerStore(shared, options)
}

class LedgerStore implements HybridStore {
  readonly #shared: CounterStore
  readonly #instances: () => number
  readonly #intervalMs: number
  readonly #maxKeys: number
  readonly #ledgers = new Map<string, Ledger>()
  #plans = new WeakMap<Policy, Map<string, Plan>>()
  /** The number of processes that the plans were made for. */
  #planned = 0
  #lastPlan: Plan | undefined
  #lastNow = 0
  #timer: NodeJS.Timeout | undefined
  #round = 0
  #closed = false

  constructor(shared: CounterStore, { instances, intervalMs = 100, maxKeys = 500_000 }: HybridOptions) {
    this.#shared = shared
    this.#instances = typeof instances === 'number' ? () => instances : instances
    this.#intervalMs = intervalMs
    this.#maxKeys = maxKeys
  }

  get generation(): number | undefined {
    return this.#shared.generation
  }

  time(now: number): number {
    return this.#shared.time?.(now) ?? now
  }

  take(policy: Policy, identifier: Identifier, cost: number, callerNow: number): Taken | Promise<Taken> {
    const plan = this.#planOf(policy, identifier.kind)
    const { ledger } = plan
    if (ledger === undefined) {
      this.#countInstances()
      return this.#shared.take(policy, identifier, cost, callerNow)
    }
    const now = this.#shared.time?.(callerNow) ?? callerNow
    const slot = ledger.find(identifier.id) ?? this.#insert(ledger, identifier.id, now)
    if (slot === undefined) return this.#shared.take(policy, identifier, cost, now)
    this.#lastNow = now
    const place = ledger.tail(slot) + tail.policy
    // A block is one policy's: another tier of the same windows may still admit.
    const blocked = ledger.cells[place] === plan.number && ledger.isBlocked(slot, now)
    ledger.cells[place] = plan.number
    this.#rollAll(plan, ledger, slot, identifier, now)
    if (blocked) {
      const standing = stand(plan, ledger, slot, cost, now)
      if (!standing.allowed) return standing
    }
    const spent = ledger.isFresh(slot, now, plan.staleMs) ? spend(plan, ledger, slot, cost, now) : undefined
    if (spent === undefined) return this.#ask(plan, ledger, slot, identifier, cost, now)
    ledger.soil(slot)
    if (this.#timer === undefined) this.#schedule()
    return spent
  }

  peek(policy: Policy, identifier: Identifier, now: number): Taken | Promise<Taken> {
    return this.#shared.peek(policy, identifier, now)
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then?: number,
  ): Taken | Promise<Taken> {
    this.#distrust(policy, identifier)
    return this.#shared.add(policy, identifier, amounts, now, then)
  }

  give(policy: Policy, identifier: Identifier, amount: number, now: number): Taken | Promise<Taken> {
    this.#distrust(policy, identifier)
    return this.#shared.give(policy, identifier, amount, now)
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Taken | Promise<Taken> {
    return this.#shared.raise(policy, identifier, counters, now)
  }

  reset(policy: Policy, identifier: Identifier, now: number): void | Promise<void> {
    this.#distrust(policy, identifier)
    return this.#shared.reset(policy, identifier, now)
  }

  async reconcile(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#round++
    this.#countInstances()
    for (const ledger of this.#ledgers.values())
      await tellDirty(ledger, this.#round, (slot) => this.#tell(ledger, slot))
    if (this.#ledgers.values().some((ledger) => ledger.dirty.length > 0)) this.#schedule()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const ledger of this.#ledgers.values()) await tellDirty(ledger, 0, (slot) => this.#tell(ledger, slot))
  }

  #schedule(): void {
    if (this.#closed || this.#intervalMs === 0) return
    // A little early or late, lest a fleet reconciles in step.
    const waitMs = this.#intervalMs * (0.9 + Math.random() / 5)
    this.#timer ??= setTimeout(() => void this.reconcile(), waitMs).unref()
  }

  /** Asks the store, after telling it what was spent here. */
  #ask(
    plan: Plan,
    ledger: Ledger,
    slot: number,
    identifier: Identifier,
    cost: number,
    now: number,
  ): Taken | Promise<Taken> {
    void this.#tell(ledger, slot)
    const heard = (taken: Taken): Taken => {
      const took = plan.policy.rules.map(() => (taken.allowed ? cost : 0))
      if (ledger.find(identifier.id) === slot) this.#hear(plan, ledger, slot, identifier, taken, took)
      return taken
    }
    const taken = this.#shared.take(plan.policy, identifier, cost, now)
    return taken instanceof Promise ? taken.then(heard) : heard(taken)
  }

  /** Tells the store what a slot has spent. What it does not hear is not told twice: it may have heard it after all. */
  async #tell(ledger: Ledger, slot: number): Promise<void> {
    const policy = ledger.policyOf(slot)
    if (policy === undefined) return
    const identifier = { kind: ledger.kind, id: ledger.idOf(slot) }
    const plan = this.#planOf(policy, ledger.kind)
    const now = this.time(this.#lastNow)
    this.#rollAll(plan, ledger, slot, identifier, now)
    const amounts = policy.rules.map((_, i) => ledger.cells[ledger.at(slot, i) + cell.pending] ?? 0)
    ledger.clean(slot)
    if (amounts.every((amount) => amount === 0)) return
    for (let i = 0; i < amounts.length; i++) ledger.cells[ledger.at(slot, i) + cell.pending] = 0
    try {
      const taken = await this.#shared.add(policy, identifier, amounts, now)
      if (ledger.find(identifier.id) === slot) this.#hear(plan, ledger, slot, identifier, taken, amounts)
    } catch {
      // The next share is spent from what is remembered; whoever asks the store next finds out that it is away.
    }
  }

  /** Takes over what the store told, having counted what we `took`: the sum of what all processes have spent. */
  #hear(plan: Plan, ledger: Ledger, slot: number, identifier: Identifier, taken: Taken, took: readonly number[]): void {
    const instances = this.#instances()
    const { cells } = ledger
    const least: number[] = []
    let lost = false
    this.#rollAll(plan, ledger, slot, identifier, taken.now)
    plan.policy.rules.forEach((rule, i) => {
      const at = ledger.at(slot, i)
      const [prev = 0, cur = 0] = [taken.counters[2 * i], taken.counters[2 * i + 1]]
      least.push(cells[at + cell.prev] ?? 0, (cells[at + cell.told] ?? 0) + (took[i] ?? 0))
      if (cells[at + cell.index] !== windowIndex(taken.now, rule.windowMs)) return
      lost ||= cur < (cells[at + cell.told] ?? 0)
      if (lost) return
      cells[at + cell.prev] = prev
      cells[at + cell.cur] = cur + (cells[at + cell.pending] ?? 0)
      cells[at + cell.told] = cur
      cells[at + cell.allowance] = allowance(rule, prev, cells[at + cell.cur] ?? 0, taken.now, instances)
    })
    ledger.hear(slot, taken.now, taken.allowed ? taken.now : taken.now + blockMs(plan.policy, taken))
    if (lost) void this.#heal(plan, ledger, slot, identifier, least, taken.now)
  }

  /**
   * The store knows less than it once told: it has lost counts, and is raised to what is remembered here; or some were
   * given back, and then what it answers is believed.
   */
  async #heal(
    plan: Plan,
    ledger: Ledger,
    slot: number,
    identifier: Identifier,
    least: readonly number[],
    now: number,
  ): Promise<void> {
    try {
      const raised = await this.#shared.raise(plan.policy, identifier, least, now)
      if (ledger.find(identifier.id) !== slot) return
      plan.policy.rules.forEach((_, i) => {
        ledger.cells[ledger.at(slot, i) + cell.told] = 0
      })
      this.#hear(plan, ledger, slot, identifier, raised, [])
    } catch {
      // Whoever asks the store next finds out that it is away.
    }
  }

  /** Asks the store at the next check. */
  #distrust(policy: Policy, identifier: Identifier): void {
    const { ledger } = this.#planOf(policy, identifier.kind)
    const slot = ledger?.find(identifier.id)
    if (slot !== undefined) ledger?.distrust(slot)
  }

  #rollAll(plan: Plan, ledger: Ledger, slot: number, identifier: Identifier, now: number): void {
    const { rules } = plan.policy
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      const untold = rule && roll(ledger, ledger.at(slot, i), rule, now, this.#instances())
      if (untold === undefined || rule === undefined) continue
      const amounts = rules.map((_, j) => (j === i ? untold.untold : 0))
      const then = untold.index * rule.windowMs
      Promise.resolve(this.#shared.add(plan.policy, identifier, amounts, now, then)).catch(() => {})
    }
  }

  #insert(ledger: Ledger, id: string, now: number): number | undefined {
    encodeId(id)
    return ledger.insert(id, now)
  }

  #planOf(policy: Policy, kind: string): Plan {
    const last = this.#lastPlan
    if (last !== undefined && last.policy === policy && last.kind === kind) return last
    const plans = this.#plans.get(policy) ?? new Map<string, Plan>()
    const plan = plans.get(kind) ?? this.#newPlan(policy, kind)
    plans.set(kind, plan)
    this.#plans.set(policy, plans)
    this.#lastPlan = plan
    return plan
  }

  /** Whether a limit is large enough to be shared out depends on how many share it. */
  #countInstances(): void {
    const instances = this.#instances()
    if (instances === this.#planned) return
    this.#planned = instances
    this.#planAnew()
  }

  #planAnew(): void {
    this.#plans = new WeakMap()
    this.#lastPlan = undefined
  }

  /** Policies of the same windows share a ledger, so that a change of tier resets nothing. */
  #newPlan(policy: Policy, kind: string): Plan {
    checkKind(kind)
    if (!canBeHybrid(policy, this.#instances())) return { policy, kind, ledger: undefined, number: 0, staleMs: 0 }
    const name = [kind, ...policy.rules.map((rule) => rule.family)].join(' ')
    const ledger = this.#ledgers.get(name) ?? new Ledger(kind, policy.rules.length, this.#maxKeys)
    this.#ledgers.set(name, ledger)
    const number = ledger.numberOf(policy, () => this.#planAnew())
    return { policy, kind, ledger, number, staleMs: staleMs(policy) }
  }
}
