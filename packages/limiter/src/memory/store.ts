import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'
import { Adjustments } from './adjustments.ts'
import type { CounterColumn } from './column.ts'
import { GenerationColumn } from './generation-column.ts'
import { acquireOverflow } from './overflow.ts'
import type { Sketch } from './sketch.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** The most identifiers of one kind kept; beyond it new ones are counted in a sketch. Default 500,000. */
  readonly maxKeys?: number
  /** Told when an identifier had to go although its counters still mattered. */
  readonly onUnexpiredEviction?: () => void
}

/** Counters in this process. Answers at once; bounded; forgets neither a block nor, when full, more than it must. */
export interface MemoryStore extends CounterStore {
  acquire(...request: Parameters<CounterStore['acquire']>): CounterResult
  peek(...request: Parameters<CounterStore['peek']>): CounterResult
  add(policy: Policy, identifier: Identifier, amounts: readonly number[], now: number, then?: number): CounterResult
  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult
  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): CounterResult
  reset(policy: Policy, identifier: Identifier, now: number): void
  /**
   * Makes the counters those of another store's answer, which has just `took` from them. When `generation` is new since
   * the last copy and more was used up here than there, that store has lost counts: nothing is copied and the answer is
   * false.
   */
  copy(policy: Policy, identifier: Identifier, answer: CounterResult, took: number, generation: number): boolean
  /** Whether another store's answer, which has just `took`, leaves out nothing that was used up here. */
  covers(policy: Policy, identifier: Identifier, answer: CounterResult, took: number): boolean
  /** Identifiers kept at this moment. */
  readonly size: number
}

/** @throws RangeError when `maxKeys` is no whole number from 1 to 16,777,216 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { maxKeys = 500_000, onUnexpiredEviction = () => {} } = options
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 24)
    throw new RangeError(`maxKeys is a whole number from 1 to ${2 ** 24}, not ${maxKeys}`)
  return new ColumnStore(maxKeys, onUnexpiredEviction)
}

/** The identifiers of one kind. */
interface Kind {
  readonly table: Table
  readonly generations: GenerationColumn
}

/** Where the rules of one policy are counted for one kind of identifier. */
interface Plan extends Kind {
  readonly policy: Policy
  readonly kind: string
  readonly columns: readonly CounterColumn[]
}

class ColumnStore implements MemoryStore {
  readonly #maxKeys: number
  readonly #onEviction: () => void
  readonly #kinds = new Map<string, Kind>()
  readonly #plans = new WeakMap<Policy, Map<string, Plan>>()
  readonly #sketches = new Map<string, Sketch>()
  readonly #adjustments = new Adjustments()
  #lastPlan: Plan | undefined

  constructor(maxKeys: number, onEviction: () => void) {
    this.#maxKeys = maxKeys
    this.#onEviction = onEviction
  }

  get size(): number {
    return this.#kinds.values().reduce((size, { table }) => size + table.size, 0)
  }

  acquire(policy: Policy, identifier: Identifier, cost: number, now: number): CounterResult {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id) ?? this.#insert(plan, identifier, now)
    if (slot === undefined) return acquireOverflow(this.#sketches, policy, identifier, cost, now)
    const { rules } = policy
    const { columns } = plan
    let violated = 0
    let allowed = true
    // Plain loops: this is the path of every check.
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      if (rule === undefined || columns[i]?.fits(slot, rule, cost, now)) continue
      violated |= 1 << i
      allowed &&= rule.shadow
    }
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      // A fixed window is incremented first, so it counts also what it rejects itself.
      if (rule !== undefined && (violated & (1 << i) ? rule.algorithm === 'fixed-window' : allowed))
        columns[i]?.add(slot, rule, cost)
    }
    return { allowed, violated, counters: readCounters(plan, slot), now }
  }

  peek(policy: Policy, identifier: Identifier, now: number): CounterResult {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    return slot === undefined ? createInitialResult(policy, now) : checkSlot(plan, slot, now)
  }

  add(policy: Policy, identifier: Identifier, amounts: readonly number[], now: number, then = now): CounterResult {
    return this.#change(policy, identifier, now, (plan, slot) => {
      checkSlot(plan, slot, now)
      policy.rules.forEach((rule, i) => {
        plan.columns[i]?.addAt(slot, rule, amounts[i] ?? 0, then, now)
      })
    })
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult {
    this.#adjustments.record(policy, identifier, now)
    const back = policy.rules.map(() => -amount)
    return this.add(policy, identifier, back, now)
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): CounterResult {
    if (this.#adjustments.has(identifier, now)) return this.peek(policy, identifier, now)
    return this.#change(policy, identifier, now, (plan, slot) =>
      policy.rules.forEach((rule, i) => {
        plan.columns[i]?.raise(slot, rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, now)
      }),
    )
  }

  reset(policy: Policy, identifier: Identifier, now: number): void {
    this.#adjustments.record(policy, identifier, now)
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    if (slot !== undefined) for (const column of plan.columns) column.clear(slot)
  }

  copy(policy: Policy, identifier: Identifier, answer: CounterResult, took: number, generation: number): boolean {
    const { counters, now } = answer
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id) ?? this.#insert(plan, identifier, now)
    if (slot === undefined) return true
    const { rules } = policy
    if (plan.generations.renew(slot, generation) && hasMore(plan, slot, answer, took)) return false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      if (rule) plan.columns[i]?.write(slot, rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, now)
    }
    return true
  }

  covers(policy: Policy, identifier: Identifier, answer: CounterResult, took: number): boolean {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    return slot === undefined || !hasMore(plan, slot, answer, took)
  }

  #change(
    policy: Policy,
    identifier: Identifier,
    now: number,
    change: (plan: Plan, slot: number) => void,
  ): CounterResult {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id) ?? this.#insert(plan, identifier, now)
    if (slot === undefined) return createInitialResult(policy, now)
    change(plan, slot)
    return checkSlot(plan, slot, now)
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

  #newPlan(policy: Policy, kind: string): Plan {
    checkKind(kind)
    let found = this.#kinds.get(kind)
    if (!found) {
      found = { table: new Table(this.#maxKeys, this.#onEviction), generations: new GenerationColumn() }
      found.table.adopt(found.generations)
      this.#kinds.set(kind, found)
    }
    const { table, generations } = found
    return { policy, kind, table, generations, columns: policy.rules.map((rule) => table.counters(rule)) }
  }

  #insert(plan: Plan, { id }: Identifier, now: number): number | undefined {
    encodeId(id)
    return plan.table.insert(id, now)
  }
}

/** Whether more was used up here than an answer says there was before it took. */
function hasMore({ policy, columns }: Plan, slot: number, { counters, now }: CounterResult, took: number): boolean {
  return policy.rules.some((rule, i) =>
    columns[i]?.hasMore(slot, rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, took, now),
  )
}

/** Brings a slot to `now` and tells how a request of cost 1 would fare. */
function checkSlot(plan: Plan, slot: number, now: number): CounterResult {
  let violated = 0
  let allowed = true
  plan.policy.rules.forEach((rule, i) => {
    if (plan.columns[i]?.fits(slot, rule, 1, now)) return
    violated |= 1 << i
    allowed &&= rule.shadow
  })
  return { allowed, violated, counters: readCounters(plan, slot), now }
}

function readCounters({ policy, columns }: Plan, slot: number): number[] {
  const { rules } = policy
  const counters = rules.length === 2 ? [0, 0, 0, 0] : new Array<number>(2 * rules.length).fill(0)
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule !== undefined) columns[i]?.read(slot, rule, counters, 2 * i)
  }
  return counters
}

/** The answer for an identifier that has no counters yet. */
function createInitialResult(policy: Policy, now: number): CounterResult {
  const counters = policy.rules.flatMap((rule) => (rule.algorithm === 'token-bucket' ? [rule.limit, now] : [0, 0]))
  return { allowed: true, violated: 0, counters, now }
}
