import * as fixedWindow from '../algorithms/fixed-window.ts'
import * as slidingWindow from '../algorithms/sliding-window.ts'
import * as tokenBucket from '../algorithms/token-bucket.ts'
import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterStore, Taken } from '../store.ts'
import { type BucketColumn, WindowColumn } from './columns.ts'
import { overflowTake } from './overflow.ts'
import type { Sketch } from './sketch.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** The most identifiers of one kind kept; beyond it new ones are counted in a sketch. Default 500,000. */
  readonly maxKeys?: number
}

/** Counters in this process. Answers at once; bounded; forgets neither a block nor, when full, more than it must. */
export interface MemoryStore extends CounterStore {
  take(policy: Policy, identifier: Identifier, cost: number, now: number): Taken
  peek(policy: Policy, identifier: Identifier, now: number): Taken
  add(policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): Taken
  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Taken
  reset(policy: Policy, identifier: Identifier, now: number): void
  /** Identifiers kept at this moment. */
  readonly size: number
  /** Identifiers that had to go although their counters still mattered. */
  readonly unexpiredEvictions: number
}

/** @throws RangeError when `maxKeys` is no whole number from 1 to 16,777,216 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { maxKeys = 500_000 } = options
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 24)
    throw new RangeError(`maxKeys is a whole number from 1 to ${2 ** 24}, not ${maxKeys}`)
  return new ColumnStore(maxKeys)
}

/** Where the rules of one policy are counted for one kind of identifier. */
interface Plan {
  readonly policy: Policy
  readonly kind: string
  readonly table: Table
  readonly columns: readonly (WindowColumn | BucketColumn)[]
}

class ColumnStore implements MemoryStore {
  unexpiredEvictions = 0
  readonly #maxKeys: number
  readonly #tables = new Map<string, Table>()
  readonly #plans = new WeakMap<Policy, Map<string, Plan>>()
  readonly #sketches = new Map<string, Sketch>()
  #lastPlan: Plan | undefined

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  get size(): number {
    let size = 0
    for (const table of this.#tables.values()) size += table.size
    return size
  }

  take(policy: Policy, identifier: Identifier, cost: number, now: number): Taken {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id) ?? this.#insert(plan, identifier.id, now)
    if (slot === undefined) return overflowTake(this.#sketches, policy, identifier, cost, now)
    const { rules } = policy
    let violated = 0
    let enforced = 0
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i] as CountedRule
      if (fits(rule, plan.columns[i], slot, cost, now)) continue
      violated |= 1 << i
      if (!rule.shadow) enforced |= 1 << i
    }
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i] as CountedRule
      const own = (violated & (1 << i)) !== 0
      if (own ? rule.algorithm === 'fixed-window' : enforced === 0) change(plan.columns[i], slot, cost)
    }
    return { allowed: enforced === 0, violated, counters: read(plan, slot), now }
  }

  peek(policy: Policy, identifier: Identifier, now: number): Taken {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    return slot === undefined ? untouched(policy, now) : this.#answer(plan, slot, now)
  }

  add(policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): Taken {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id) ?? this.#insert(plan, identifier.id, now)
    if (slot === undefined) return untouched(policy, now)
    this.#refresh(plan, slot, now)
    for (let i = 0; i < policy.rules.length; i++) {
      const column = plan.columns[i]
      change(column, slot, amounts[i] ?? 0)
      if (!(column instanceof WindowColumn)) this.#refresh(plan, slot, now)
    }
    return this.#answer(plan, slot, now)
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Taken {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id) ?? this.#insert(plan, identifier.id, now)
    if (slot === undefined) return untouched(policy, now)
    this.#refresh(plan, slot, now)
    for (let i = 0; i < policy.rules.length; i++) {
      const column = plan.columns[i]
      if (!(column instanceof WindowColumn)) continue
      const at = column.roll(slot)
      column.cells[at + 1] = Math.max(column.cells[at + 1] ?? 0, counters[2 * i] ?? 0)
      column.cells[at + 2] = Math.max(column.cells[at + 2] ?? 0, counters[2 * i + 1] ?? 0)
    }
    return this.#answer(plan, slot, now)
  }

  reset(policy: Policy, identifier: Identifier, _now: number): void {
    const plan = this.#planOf(policy, identifier.kind)
    const slot = plan.table.find(identifier.id)
    if (slot !== undefined) for (const column of plan.columns) column.clear(slot)
  }

  #planOf(policy: Policy, kind: string): Plan {
    const last = this.#lastPlan
    if (last !== undefined && last.policy === policy && last.kind === kind) return last
    let plans = this.#plans.get(policy)
    if (!plans) {
      plans = new Map()
      this.#plans.set(policy, plans)
    }
    let plan = plans.get(kind)
    if (!plan) {
      plan = this.#newPlan(policy, kind)
      plans.set(kind, plan)
    }
    this.#lastPlan = plan
    return plan
  }

  #newPlan(policy: Policy, kind: string): Plan {
    checkKind(kind)
    let table = this.#tables.get(kind)
    if (!table) {
      table = new Table({ maxKeys: this.#maxKeys, onEviction: () => this.unexpiredEvictions++ })
      this.#tables.set(kind, table)
    }
    const found = table
    const columns = policy.rules.map((rule) =>
      rule.algorithm === 'token-bucket' ? found.bucketColumn(rule) : found.windowColumn(rule),
    )
    return { policy, kind, table, columns }
  }

  #insert(plan: Plan, id: string, now: number): number | undefined {
    encodeId(id)
    return plan.table.insert(id, now)
  }

  #refresh(plan: Plan, slot: number, now: number): void {
    for (let i = 0; i < plan.columns.length; i++)
      fits(plan.policy.rules[i] as CountedRule, plan.columns[i], slot, 1, now)
  }

  #answer(plan: Plan, slot: number, now: number): Taken {
    let violated = 0
    let allowed = true
    plan.policy.rules.forEach((rule, i) => {
      if (fits(rule, plan.columns[i], slot, 1, now)) return
      violated |= 1 << i
      allowed &&= rule.shadow
    })
    return { allowed, violated, counters: read(plan, slot), now }
  }
}

/** Brings a slot's counters to `now` and tells whether `cost` fits. */
function fits(
  rule: CountedRule,
  column: WindowColumn | BucketColumn | undefined,
  slot: number,
  cost: number,
  now: number,
): boolean {
  if (column instanceof WindowColumn) {
    const elapsed = column.turnTo(now)
    const at = column.roll(slot)
    const cur = column.cells[at + 2] ?? 0
    if (rule.algorithm === 'fixed-window') return fixedWindow.admits(cur, rule.limit, cost)
    return slidingWindow.admits(column.cells[at + 1] ?? 0, cur, elapsed, rule.windowMs, rule.limit, cost)
  }
  return column !== undefined && tokenBucket.admits(column.cells[column.refill(slot, rule, now)] ?? 0, cost)
}

const highestCount = 2 ** 31 - 1

/** Counts `cost` in a slot that `fits` has brought to the present. */
function change(column: WindowColumn | BucketColumn | undefined, slot: number, cost: number): void {
  if (column instanceof WindowColumn)
    column.cells[slot * 3 + 2] = Math.min(highestCount, (column.cells[slot * 3 + 2] ?? 0) + cost)
  else if (column !== undefined) column.cells[slot * 2] = (column.cells[slot * 2] ?? 0) - cost
}

function read(plan: Plan, slot: number): number[] {
  const { columns } = plan
  const counters: number[] = []
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]
    if (column instanceof WindowColumn) counters.push(column.cells[slot * 3 + 1] ?? 0, column.cells[slot * 3 + 2] ?? 0)
    else if (column !== undefined) counters.push(column.cells[slot * 2] ?? 0, (column.cells[slot * 2 + 1] ?? 1) - 1)
  }
  return counters
}

/** The answer for an identifier that has no counters yet. */
function untouched(policy: Policy, now: number): Taken {
  const counters = policy.rules.flatMap((rule) => (rule.algorithm === 'token-bucket' ? [rule.limit, now] : [0, 0]))
  return { allowed: true, violated: 0, counters, now }
}
