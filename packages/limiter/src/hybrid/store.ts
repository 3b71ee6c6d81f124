import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'
import { Combination, type Reservation } from './combination.ts'
import { cell, Ledger, tail } from './ledger.ts'
import { canBeHybrid, currentOnly, limitAllowance, type Plan, shortOnly, staleMs } from './plan.ts'
import { Reconciler } from './reconciler.ts'
import { reconcileDirty } from './round.ts'
import { assess, spend } from './spend.ts'

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

/** Keys that the store is asked about at a time before what others may spend is presumed. */
const maxPendingAcquires = 16
const ignoreCompletion = (): void => {}

class LedgerStore implements HybridStore {
  readonly #shared: CounterStore
  readonly #instances: () => number
  readonly #reconciler: Reconciler
  readonly #intervalMs: number
  readonly #maxKeys: number
  readonly #combination: Combination
  readonly #ledgers = new Map<string, Ledger>()
  #plans = new WeakMap<Policy, Map<string, Plan>>()
  /** The number of processes that the plans were made for. */
  #planned = 0
  #lastPlan: Plan | undefined
  #lastNow = 0
  /** Checks that wait for the store. */
  #pendingAcquires = 0
  #timer: NodeJS.Timeout | undefined
  #round = 0
  #closed = false

  constructor(shared: CounterStore, { instances, intervalMs = 100, maxKeys = 500_000 }: HybridOptions) {
    this.#shared = shared
    this.#instances = typeof instances === 'number' ? () => instances : instances
    this.#reconciler = new Reconciler(shared, this.#instances)
    this.#intervalMs = intervalMs
    this.#maxKeys = maxKeys
    this.#combination = new Combination(shared, {
      reserve: (policy, identifier, cost, now) => this.#reserve(policy, identifier, cost, now),
      markDirty: (ledger, slot) => this.#markDirty(ledger, slot),
      sendPending: ({ ledger, slot }) => this.#send(ledger, slot, false, ignoreCompletion),
      receive: ({ plan, ledger, slot, identifier }, result, took) =>
        this.#reconciler.receive(plan, ledger, slot, identifier, result, took),
    })
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
    at: number,
    withinMs?: number,
  ): CounterResult | Promise<CounterResult> {
    if (policy.parts !== undefined && policy.parts.length > 1)
      return this.#combination.acquire(policy, identifier, { cost, now: at, withinMs })
    const plan = this.#planOf(policy, identifier.kind)
    const { ledger } = plan
    if (ledger === undefined) {
      this.#countInstances()
      return this.#shared.acquire(policy, identifier, cost, at, withinMs)
    }
    const now = this.#shared.time?.(at) ?? at
    const slot = ledger.find(identifier.id) ?? this.#insert(ledger, identifier.id, now)
    if (slot === undefined) return this.#shared.acquire(policy, identifier, cost, now)
    const answer = this.#decideLocally(plan, ledger, slot, identifier, cost, now, cell.pending)
    if (answer === undefined) return this.#acquireShared(plan, ledger, slot, identifier, cost, now)
    if (answer.allowed) this.#markDirty(ledger, slot)
    return answer
  }

  /** What is known here decides: a block rejects, this process's share admits; undefined where the store has to be asked. */
  #decideLocally(
    plan: Plan,
    ledger: Ledger,
    slot: number,
    identifier: Identifier,
    cost: number,
    now: number,
    into: typeof cell.pending | typeof cell.reserved,
  ): CounterResult | undefined {
    this.#lastNow = now
    const place = ledger.tail(slot) + tail.policy
    // A block is one policy's: another tier of the same windows may still admit.
    const blocked = ledger.cells[place] === plan.number && ledger.isBlocked(slot, now)
    ledger.cells[place] = plan.number
    this.#reconciler.advance(plan, ledger, slot, identifier, now)
    if (blocked) {
      const standing = assess(plan, ledger, slot, cost, now)
      if (!standing.allowed) return standing
    }
    const knows = ledger.isFresh(slot, now, plan.staleMs) || this.#canSpendProvisionally(plan, ledger, slot, now)
    return knows ? spend(plan, ledger, slot, cost, now, into) : undefined
  }

  #markDirty(ledger: Ledger, slot: number): void {
    ledger.markDirty(slot)
    if (this.#timer === undefined) this.#schedule()
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
    this.#invalidate(policy, identifier)
    return this.#shared.add(policy, identifier, amounts, now, then)
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult | Promise<CounterResult> {
    this.#invalidate(policy, identifier)
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
    this.#invalidate(policy, identifier)
    return this.#shared.reset(policy, identifier, now)
  }

  async reconcile(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#round++
    this.#countInstances()
    for (const ledger of this.#ledgers.values())
      await reconcileDirty(ledger, this.#round, (...told) => this.#send(ledger, ...told))
    if (this.#ledgers.values().some((ledger) => ledger.dirty.length > 0)) this.#schedule()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const ledger of this.#ledgers.values())
      await reconcileDirty(ledger, 0, (...told) => this.#send(ledger, ...told))
  }

  #schedule(): void {
    if (this.#closed || this.#intervalMs === 0) return
    // A little early or late, lest a fleet reconciles in step.
    const waitMs = this.#intervalMs * (0.9 + Math.random() / 5)
    this.#timer ??= setTimeout(() => void this.reconcile(), waitMs).unref()
  }

  /**
   * Whether a slot not heard of lately may be spent from before the store is asked: while many are asked about already,
   * and then but little.
   */
  #canSpendProvisionally(plan: Plan, ledger: Ledger, slot: number, now: number): boolean {
    if (this.#pendingAcquires < maxPendingAcquires || ledger.isInvalid(slot)) return false
    limitAllowance(plan, ledger, slot, now, this.#instances())
    return true
  }

  /** Asks the store, after telling it what was spent here. */
  #acquireShared(
    plan: Plan,
    ledger: Ledger,
    slot: number,
    identifier: Identifier,
    cost: number,
    now: number,
  ): CounterResult | Promise<CounterResult> {
    this.#send(ledger, slot, false, ignoreCompletion)
    const result = this.#shared.acquire(plan.policy, identifier, cost, now)
    const took = (value: CounterResult): number[] => plan.policy.rules.map(() => (value.allowed ? cost : 0))
    if (!(result instanceof Promise)) {
      this.#reconciler.receive(plan, ledger, slot, identifier, result, took(result))
      return result
    }
    this.#pendingAcquires++
    return result.then(
      (value) => {
        this.#pendingAcquires--
        this.#reconciler.receive(plan, ledger, slot, identifier, value, took(value))
        return value
      },
      (error) => {
        this.#pendingAcquires--
        throw error
      },
    )
  }

  #send(ledger: Ledger, slot: number, briefly: boolean, heard: () => void): void {
    const policy = ledger.policyOf(slot)
    if (policy === undefined) heard()
    else
      this.#reconciler.send(this.#planOf(policy, ledger.kind), ledger, slot, this.time(this.#lastNow), briefly, heard)
  }

  /** Asks the store at the next check. */
  #invalidate(policy: Policy, identifier: Identifier): void {
    const { ledger } = this.#planOf(policy, identifier.kind)
    const slot = ledger?.find(identifier.id)
    if (slot !== undefined) ledger?.invalidate(slot)
  }

  /** One policy of a combination; undefined where it is counted by the store alone. */
  #reserve(policy: Policy, identifier: Identifier, cost: number, callerNow: number): Reservation | undefined {
    this.#countInstances()
    const plan = this.#planOf(policy, identifier.kind)
    const { ledger } = plan
    if (ledger === undefined) return undefined
    const now = this.time(callerNow)
    const slot = ledger.find(identifier.id) ?? this.#insert(ledger, identifier.id, now)
    if (slot === undefined) return undefined
    const answer = this.#decideLocally(plan, ledger, slot, identifier, cost, now, cell.reserved)
    return { plan, ledger, slot, identifier, answer, syncedAt: ledger.cells[ledger.tail(slot) + tail.syncedAt] }
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
    this.#resetPlans()
  }

  #resetPlans(): void {
    this.#plans = new WeakMap()
    this.#lastPlan = undefined
  }

  /** Policies of the same windows share a ledger, so that a change of tier resets nothing. */
  #newPlan(policy: Policy, kind: string): Plan {
    checkKind(kind)
    if (!canBeHybrid(policy, this.#instances()))
      return { policy, kind, currentOnly: policy, shortOnly: undefined, ledger: undefined, number: 0, staleMs: 0 }
    const name = [kind, ...policy.rules.map((rule) => rule.family)].join(' ')
    const ledger = this.#ledgers.get(name) ?? new Ledger(kind, policy.rules.length, this.#maxKeys)
    this.#ledgers.set(name, ledger)
    const number = ledger.numberOf(policy, () => this.#resetPlans())
    const current = currentOnly(policy)
    const short = shortOnly(current)
    return { policy, kind, currentOnly: current, shortOnly: short, ledger, number, staleMs: staleMs(policy) }
  }
}
