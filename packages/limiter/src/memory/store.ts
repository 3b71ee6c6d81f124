import { isAllowed } from '../algorithms/counters.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, AddRequest, CounterResult, CounterStore } from '../store.ts'
import { Adjustments } from './adjustments.ts'
import { Counters, defaultMaxKeys, type Plan, readCounters } from './counters.ts'
import { addOverflow, peekOverflow, raiseOverflow, resetOverflow } from './overflow.ts'

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Maximum number of identifiers of one kind; beyond it new ones are counted in a sketch. Default 500,000. */
  readonly maxKeys?: number
  /** Called when an identifier was evicted although its counters had not expired. */
  readonly onUnexpiredEviction?: () => void
}

/** Counters in this process. Returns results without promises; its size is bounded; never evicts a blocked identifier. */
export interface MemoryStore extends CounterStore {
  acquire(request: AcquireRequest): CounterResult
  acquireAtOnce(policy: Policy, identifier: Identifier, cost: number, now: number): CounterResult
  peek(policy: Policy, identifier: Identifier, now: number, cost?: number): CounterResult
  add(request: AddRequest): CounterResult
  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult
  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): CounterResult
  reset(policy: Policy, identifier: Identifier, now: number): void
  /** Identifiers stored at this moment. */
  readonly size: number
}

/** A memory store that holds copies of another store's counters. */
export interface MemoryReplica extends MemoryStore {
  /** Generation of the other store's counters: after it has changed, the next result of each identifier is compared. */
  sourceGeneration: number
  /**
   * Copies the counters of the other store's result, which has just `acquired` units. Copies nothing and returns false when
   * that result is the first of its generation and has counted less than this store: the other store has lost counts.
   */
  copy(policy: Policy, identifier: Identifier, result: CounterResult, acquired: number): boolean
  /** Whether the other store's result, which has just `acquired` units, has counted no less than this store. */
  isCoveredBy(policy: Policy, identifier: Identifier, result: CounterResult, acquired: number): boolean
}

/**
 * Creates a store that keeps counters in the memory of this process.
 *
 * @throws RangeError when `maxKeys` is not an integer from 1 to 16,777,216
 * @example
 * const limiter = createLimiter({ store: memoryStore({ maxKeys: 100_000 }) })
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return memoryReplica(options)
}

/** Creates the store in which a failover limiter remembers the counters of another store. */
export function memoryReplica(options: MemoryStoreOptions = {}): MemoryReplica {
  const { maxKeys = defaultMaxKeys, onUnexpiredEviction = () => {} } = options
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 24)
    throw new RangeError(`maxKeys must be an integer from 1 to ${2 ** 24}, got ${maxKeys}`)
  return new ColumnStore(maxKeys, onUnexpiredEviction)
}

class ColumnStore implements MemoryReplica {
  sourceGeneration = 1
  readonly #counters: Counters
  readonly #adjustments = new Adjustments()

  constructor(maxKeys: number, onEviction: () => void) {
    this.#counters = new Counters(maxKeys, onEviction)
  }

  get size(): number {
    return this.#counters.size
  }

  acquire({ policy, identifier, cost, now }: AcquireRequest): CounterResult {
    return this.#counters.acquire(policy, identifier, cost, now)
  }

  acquireAtOnce(policy: Policy, identifier: Identifier, cost: number, now: number): CounterResult {
    return this.#counters.acquire(policy, identifier, cost, now)
  }

  peek(policy: Policy, identifier: Identifier, now: number): CounterResult {
    const plan = this.#counters.planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    if (slot !== undefined) return checkSlot(plan, slot, now)
    return plan.table.isFull
      ? peekOverflow(this.#counters.sketches, { policy, identifier, now })
      : createInitialResult(policy, now)
  }

  add(request: AddRequest): CounterResult {
    const { policy, identifier, amounts, now, countedAt = now } = request
    const plan = this.#counters.planOf(policy, identifier.kind)
    const slot = this.#counters.slotOf(plan, identifier, now)
    if (slot === undefined) return addOverflow(this.#counters.sketches, request)
    policy.rules.forEach((rule, i) => {
      const column = plan.columns[i]
      column?.seek(slot, rule, now)
      column?.addAt(rule, amounts[i] ?? 0, countedAt, now)
    })
    return checkSlot(plan, slot, now)
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult {
    this.#adjustments.record(policy, identifier, now)
    return this.add({ policy, identifier, amounts: policy.rules.map(() => -amount), now })
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): CounterResult {
    if (this.#adjustments.has(identifier, now)) return this.peek(policy, identifier, now)
    const plan = this.#counters.planOf(policy, identifier.kind)
    const slot = this.#counters.slotOf(plan, identifier, now)
    if (slot === undefined) return raiseOverflow(this.#counters.sketches, { policy, identifier, now }, counters)
    policy.rules.forEach((rule, i) => {
      const column = plan.columns[i]
      column?.seek(slot, rule, now)
      column?.raise(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0)
    })
    return checkSlot(plan, slot, now)
  }

  reset(policy: Policy, identifier: Identifier, now: number): void {
    this.#adjustments.record(policy, identifier, now)
    const plan = this.#counters.planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    if (slot === undefined) resetOverflow(this.#counters.sketches, policy, identifier, now)
    else for (const column of plan.columns) column.clear(slot)
  }

  copy(policy: Policy, identifier: Identifier, result: CounterResult, acquired: number): boolean {
    const { counters, now } = result
    const plan = this.#counters.planOf(policy, identifier.kind)
    const slot = this.#counters.slotOf(plan, identifier, now)
    if (slot === undefined) return true
    const { rules } = policy
    if (plan.generations.renew(slot, this.sourceGeneration) && hasMore(plan, slot, result, acquired)) return false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      const column = plan.columns[i]
      if (rule === undefined || column === undefined) continue
      column.seek(slot, rule, now)
      column.write(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0)
    }
    return true
  }

  isCoveredBy(policy: Policy, identifier: Identifier, result: CounterResult, acquired: number): boolean {
    const plan = this.#counters.planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    return slot === undefined || !hasMore(plan, slot, result, acquired)
  }
}

/** Whether more was used here than a result says was used before it `acquired` units. */
function hasMore({ policy, columns }: Plan, slot: number, { counters, now }: CounterResult, acquired: number): boolean {
  return policy.rules.some((rule, i) => {
    const column = columns[i]
    column?.seek(slot, rule, now)
    return column?.hasMore(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, acquired)
  })
}

/** Brings a slot to `now` and decides how a request of cost 1 would fare. */
function checkSlot(plan: Plan, slot: number, now: number): CounterResult {
  const { rules } = plan.policy
  let violated = 0
  rules.forEach((rule, i) => {
    if (!plan.columns[i]?.fits(slot, rule, 1, now)) violated |= 1 << i
  })
  return { allowed: isAllowed(rules, violated), violated, counters: readCounters(plan), now }
}

/** The result for an identifier that has no counters. */
function createInitialResult(policy: Policy, now: number): CounterResult {
  const counters = policy.rules.flatMap((rule) => (rule.algorithm === 'token-bucket' ? [rule.limit, now] : [0, 0]))
  return { allowed: true, violated: 0, counters, now }
}
