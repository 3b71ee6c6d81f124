import { countedIdentifier, partsOf } from '../combination/combine.ts'
import { acquiredAmounts } from '../combination/results.ts'
import { encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, AddRequest, CounterResult, CounterStore } from '../store.ts'
import { Combination, type Reservation } from './combination.ts'
import { cell, type Ledger, tail } from './ledger.ts'
import type { HybridOptions, HybridStore } from './options.ts'
import { agesOf, type LedgerEntry, limitAllowance } from './plan.ts'
import { PlanBook } from './plan-book.ts'
import { Reconciler } from './reconciler.ts'
import { reconcileDirty, type SendOptions, type SlotSender } from './round.ts'
import { assess, spend } from './spend.ts'

/**
 * Puts local counting before a shared store, for advisory policies whose limits are large enough. Everything else is
 * passed on to the shared store.
 *
 * @example
 * const hybrid = hybridStore(redisStore(client), { instances: 4 })
 * const limiter = createLimiter({ store: hybrid })
 * const route = definePolicy('route', [{ name: 'route', limit: 50_000, windowMs: 60_000 }], { advisory: true })
 * await limiter.check(route, { kind: 'route', id: '/search' })
 */
export function hybridStore(shared: CounterStore, options: HybridOptions): HybridStore {
  return new LedgerStore(shared, options)
}

/** With so many calls of the store under way, slots of which it has reported nothing lately are spent from before it is called. */
const maxPendingAcquires = 16
const defaultIntervalMs = 100
/** A round ends after a second, whether the store responds or not. */
const maxClosingRounds = 5
const sendFully: SendOptions = { isBrief: false, onComplete: () => {} }

class LedgerStore implements HybridStore {
  readonly #shared: CounterStore
  readonly #instances: () => number
  readonly #reconciler: Reconciler
  readonly #intervalMs: number
  readonly #combination: Combination
  readonly #plans: PlanBook
  #lastNow = 0
  /** Checks that wait for the store. */
  #pendingAcquires = 0
  #timer: NodeJS.Timeout | undefined
  #round = 0
  /** Rounds under way: the slots that they have not sent are dirty nowhere else. */
  readonly #rounds = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(shared: CounterStore, options: HybridOptions) {
    const { instances, intervalMs = defaultIntervalMs, maxKeys = 500_000, onUnconfirmed = () => {} } = options
    this.#shared = shared
    this.#instances = typeof instances === 'number' ? () => instances : instances
    this.#reconciler = new Reconciler(shared, this.#instances, { onUnconfirmed, onReturned: () => this.#schedule() })
    this.#intervalMs = intervalMs
    this.#plans = new PlanBook(this.#instances, maxKeys, intervalMs === 0 ? defaultIntervalMs : intervalMs)
    this.#combination = new Combination(shared, {
      reserve: (policy, identifier, cost, now) => this.#reserve(policy, identifier, cost, now),
      markDirty: (ledger, slot) => this.#markDirty(ledger, slot),
      sendPending: ({ plan, slot }) => this.#send(plan.ledger, slot, sendFully),
      receive: (reservation, result, amounts) => this.#reconciler.receive(reservation, result, amounts),
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

  acquireAtOnce(policy: Policy, identifier: Identifier, cost: number, callerNow: number): CounterResult | undefined {
    if (policy.parts !== undefined && policy.parts.length > 1) return undefined
    const plan = this.#plans.planOf(policy, identifier.kind)
    const slot = plan.ledger?.find(identifier.id)
    if (plan.ledger === undefined || slot === undefined) return undefined
    const now = this.time(callerNow)
    const result = this.#decideLocally({ plan, slot, identifier }, cost, now, cell.pending)
    if (result?.allowed) this.#markDirty(plan.ledger, slot)
    return result
  }

  acquire(request: AcquireRequest): CounterResult | Promise<CounterResult> {
    const { policy, identifier, cost } = request
    if (policy.parts !== undefined && policy.parts.length > 1) return this.#combination.acquire(request)
    const plan = this.#plans.planOf(policy, identifier.kind)
    if (plan.ledger === undefined) {
      this.#plans.checkInstances()
      return this.#shared.acquire(request)
    }
    const { ledger } = plan
    const now = this.#shared.time?.(request.now) ?? request.now
    const slot = ledger.find(identifier.id) ?? this.#insert(ledger, identifier.id, now)
    if (slot === undefined) return this.#shared.acquire({ policy, identifier, cost, now })
    const entry: LedgerEntry = { plan, slot, identifier }
    const result = this.#decideLocally(entry, cost, now, cell.pending)
    if (result === undefined) return this.#acquireShared(entry, cost, now)
    if (result.allowed) this.#markDirty(ledger, slot)
    return result
  }

  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): CounterResult | Promise<CounterResult> {
    return this.#shared.peek(policy, identifier, now, cost)
  }

  recall(policy: Policy, identifier: Identifier, now: number): readonly number[] | undefined {
    const plan = this.#plans.planOf(policy, identifier.kind)
    const slot = plan.ledger?.find(identifier.id)
    if (plan.ledger === undefined || slot === undefined) return undefined
    const entry: LedgerEntry = { plan, slot, identifier }
    this.#reconciler.advance(entry, now)
    return assess(entry, 1, now).counters
  }

  add(request: AddRequest): CounterResult | Promise<CounterResult> {
    this.#invalidate(request.policy, request.identifier)
    return this.#shared.add(request)
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
    this.#plans.checkInstances()
    await this.#sendDirty(this.#round)
    if (this.#hasDirty()) this.#schedule()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (let round = 0; round < maxClosingRounds && (this.#hasDirty() || this.#rounds.size > 0); round++)
      await Promise.all([...this.#rounds, this.#sendDirty(0)])
  }

  /** Rejects while blocked, or spends from the allowance; undefined where the store has to be called. */
  #decideLocally(
    entry: LedgerEntry,
    cost: number,
    now: number,
    into: typeof cell.pending | typeof cell.reserved,
  ): CounterResult | undefined {
    const { plan, slot } = entry
    const { ledger } = plan
    this.#lastNow = now
    const place = ledger.tail(slot) + tail.policy
    // A block belongs to one policy: another tier of the same windows may still admit.
    const isBlocked = ledger.cells[place] === plan.number && ledger.isBlocked(slot, now)
    ledger.cells[place] = plan.number
    this.#reconciler.advance(entry, now)
    if (isBlocked) {
      const result = assess(entry, cost, now)
      if (!result.allowed) return result
    }
    if (ledger.isFresh(slot, now, plan.ages.freshMs)) return spend(entry, cost, now, into)
    return this.#canSpendProvisionally(entry, now) ? spend(entry, cost, now, into) : undefined
  }

  /**
   * Whether a little may be spent from a slot of which the store's last result is old: it was given within the shortest
   * window, or many calls of the store are under way already.
   */
  #canSpendProvisionally(entry: LedgerEntry, now: number): boolean {
    const { plan, slot } = entry
    const isKnown = plan.ledger.isFresh(slot, now, plan.ages.knownMs) || this.#pendingAcquires >= maxPendingAcquires
    if (!isKnown || plan.ledger.isInvalid(slot)) return false
    limitAllowance(entry, now, this.#instances())
    return true
  }

  /** Acquires from the store, after sending it what was spent here. */
  #acquireShared(entry: LedgerEntry, cost: number, now: number): CounterResult | Promise<CounterResult> {
    const { plan, slot, identifier } = entry
    const { policy, ledger } = plan
    this.#send(ledger, slot, sendFully)
    const since = ledger.resultsOf(slot)
    const receive = (result: CounterResult): CounterResult => {
      this.#reconciler.receive({ plan, slot, identifier, since }, result, acquiredAmounts(policy, result, cost))
      return result
    }
    const result = this.#shared.acquire({ policy, identifier, cost, now })
    if (!(result instanceof Promise)) return receive(result)
    this.#pendingAcquires++
    return result.then(
      (value) => {
        this.#pendingAcquires--
        return receive(value)
      },
      (error) => {
        this.#pendingAcquires--
        throw error
      },
    )
  }

  /** Reserves one policy of a combination; undefined where it is counted by the store alone. */
  #reserve(policy: Policy, identifier: Identifier, cost: number, callerNow: number): Reservation | undefined {
    this.#plans.checkInstances()
    const plan = this.#plans.planOf(policy, identifier.kind)
    if (plan.ledger === undefined) return undefined
    const { ledger } = plan
    const now = this.time(callerNow)
    const slot = ledger.find(identifier.id) ?? this.#insert(ledger, identifier.id, now)
    if (slot === undefined) return undefined
    const result = this.#decideLocally({ plan, slot, identifier }, cost, now, cell.reserved)
    const [since, indexes] = [ledger.resultsOf(slot), ledger.indexesOf(slot)]
    const syncedAt = ledger.cells[ledger.tail(slot) + tail.syncedAt]
    return { plan, slot, identifier, result, since, indexes, syncedAt }
  }

  #hasDirty(): boolean {
    return this.#plans.ledgers().some((ledger) => ledger.dirtyCount > 0)
  }

  #markDirty(ledger: Ledger, slot: number): void {
    ledger.markDirty(slot)
    if (this.#timer === undefined) this.#schedule()
  }

  #schedule(): void {
    if (this.#isClosed || this.#intervalMs === 0) return
    // Jitter keeps a fleet from reconciling at the same moment.
    const waitMs = this.#intervalMs * (0.9 + Math.random() / 5)
    this.#timer ??= setTimeout(() => void this.reconcile(), waitMs).unref()
  }

  async #sendDirty(round: number): Promise<void> {
    const reconciler = this.#reconciler
    const senderOf = (ledger: Ledger): SlotSender => ({
      send: (slot, options) => this.#send(ledger, slot, options),
      get isFull() {
        return reconciler.isFull
      },
    })
    const sending = Promise.all(this.#plans.ledgers().map((ledger) => reconcileDirty(ledger, round, senderOf(ledger))))
    this.#rounds.add(sending)
    await sending
    this.#rounds.delete(sending)
  }

  #send(ledger: Ledger, slot: number, options: SendOptions): void {
    const policy = ledger.policyOf(slot)
    if (policy === undefined) {
      options.onComplete()
      return
    }
    const { kind } = ledger
    const plan = this.#plans.planOf(policy, kind)
    // A policy that has become exact, since more processes share it, still has counts to send.
    const local =
      plan.ledger === undefined
        ? { policy, kind, ledger, currentOnly: policy, shortOnly: undefined, number: 0, ages: agesOf(policy) }
        : plan
    this.#reconciler.send(local, slot, this.time(this.#lastNow), options)
  }

  /** The next check of the identifier by this policy, or by a part of it, calls the store. */
  #invalidate(policy: Policy, identifier: Identifier): void {
    for (const part of partsOf(policy)) {
      const { kind, id } = countedIdentifier(part, identifier)
      const { ledger } = this.#plans.planOf(part, kind)
      const slot = ledger?.find(id)
      if (slot !== undefined) ledger?.invalidate(slot)
    }
  }

  #insert(ledger: Ledger, id: string, now: number): number | undefined {
    encodeId(id)
    return ledger.insert(id, now)
  }
}
