import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'
import type { CounterColumn } from './column.ts'
import { GenerationColumn } from './generation-column.ts'
import { acquireOverflow } from './overflow.ts'
import type { Sketch } from './sketch.ts'
import { Table } from './table.ts'

/** How many identifiers of one kind have a slot unless configured. */
export const defaultMaxKeys = 500_000

/** The identifiers of one kind. */
interface Kind {
  readonly table: Table
  readonly generations: GenerationColumn
}

/** Where the rules of one policy are counted for one kind of identifier. */
export interface Plan extends Kind {
  readonly policy: Policy
  readonly kind: string
  readonly columns: readonly CounterColumn[]
}

/**
 * The counters of a process and what requests acquire of them: identifiers of each kind have slots of a table, those that
 * find none are counted in sketches. It has no more than the browser's limiter needs.
 */
export class Counters {
  readonly sketches = new Map<string, Sketch>()
  readonly #maxKeys: number
  readonly #onEviction: () => void
  readonly #kinds = new Map<string, Kind>()
  readonly #plans = new WeakMap<Policy, Map<string, Plan>>()
  #lastPlan: Plan | undefined

  /** @param onEviction called when an identifier is evicted although its counters have not expired */
  constructor(maxKeys: number, onEviction: () => void) {
    this.#maxKeys = maxKeys
    this.#onEviction = onEviction
  }

  /** Identifiers with a slot. */
  get size(): number {
    return this.#kinds.values().reduce((size, { table }) => size + table.size, 0)
  }

  /**
   * Acquires `cost` units of every rule of the policy, or of none.
   *
   * @throws RangeError for an invalid identifier
   */
  acquire(policy: Policy, identifier: Identifier, cost: number, now: number): CounterResult {
    const plan = this.planOf(policy, identifier.kind)
    const slot = this.slotOf(plan, identifier, now)
    if (slot === undefined) return acquireOverflow(this.sketches, { policy, identifier, cost, now })
    const { rules } = policy
    const { columns } = plan
    let violated = 0
    let allowed = true
    // Plain loops: every check comes through here.
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      if (rule === undefined || columns[i]?.fits(slot, rule, cost, now)) continue
      violated |= 1 << i
      allowed &&= rule.shadow
    }
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      // A fixed window is incremented first, so it also counts the requests that it rejects itself.
      if (rule !== undefined && (violated & (1 << i) ? rule.algorithm === 'fixed-window' : allowed))
        columns[i]?.add(rule, cost)
    }
    return { allowed, violated, counters: readCounters(plan), now }
  }

  /** @throws RangeError for an invalid kind */
  planOf(policy: Policy, kind: string): Plan {
    const last = this.#lastPlan
    if (last !== undefined && last.policy === policy && last.kind === kind) return last
    const plans = this.#plans.get(policy) ?? new Map<string, Plan>()
    const plan = plans.get(kind) ?? this.#createPlan(policy, kind)
    plans.set(kind, plan)
    this.#plans.set(policy, plans)
    this.#lastPlan = plan
    return plan
  }

  /**
   * The slot of an identifier, a new one if it has none; undefined when the table is full.
   *
   * @throws RangeError for an invalid identifier
   */
  slotOf(plan: Plan, { id }: Identifier, now: number): number | undefined {
    return plan.table.find(id) ?? insert(plan.table, id, now)
  }

  #createPlan(policy: Policy, kind: string): Plan {
    checkKind(kind)
    let found = this.#kinds.get(kind)
    if (!found) {
      found = { table: new Table(this.#maxKeys, this.#onEviction), generations: new GenerationColumn() }
      found.table.addColumn(found.generations)
      this.#kinds.set(kind, found)
    }
    const { table, generations } = found
    return { policy, kind, table, generations, columns: policy.rules.map((rule) => table.columnOf(rule)) }
  }
}

function insert(table: Table, id: string, now: number): number | undefined {
  encodeId(id)
  return table.insert(id, now)
}

/** The counters of the slot that the columns were moved to. */
export function readCounters({ policy, columns }: Plan): number[] {
  const { rules } = policy
  const counters = rules.length === 2 ? [0, 0, 0, 0] : new Array<number>(2 * rules.length).fill(0)
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule !== undefined) columns[i]?.read(rule, counters, 2 * i)
  }
  return counters
}
