import type { CountedRule } from '../rule.ts'
import { BucketColumn } from './bucket-column.ts'
import type { Column, CounterColumn } from './column.ts'
import { Slots } from './slots.ts'
import { WindowCells } from './window-cells.ts'
import { WindowColumn } from './window-column.ts'

const firstCapacity = 1024
const slotsVisitedWhenGrowing = 4
const slotsVisitedWhenFull = 64

/**
 * Identifiers of one kind and their counters: a map from id to slot, and one column of counters a family. No timer and no
 * object per identifier; idle slots are found by looking at the next few whenever an identifier is new.
 */
export class Table {
  readonly #slots: Slots
  readonly #windows = new WindowCells()
  readonly #columns: Column[] = []
  readonly #counters = new Map<string, CounterColumn>()
  readonly #maxKeys: number
  readonly #onEviction: () => void
  #capacity = 0

  /** @param onEviction called when an identifier is evicted although its counters have not expired */
  constructor(maxKeys: number, onEviction: () => void) {
    this.#slots = new Slots(maxKeys)
    this.#maxKeys = maxKeys
    this.#onEviction = onEviction
  }

  get size(): number {
    return this.#slots.size
  }

  get isFull(): boolean {
    return this.size >= this.#maxKeys
  }

  /** The column in which a rule is counted: rules of one family share it. */
  columnOf(rule: CountedRule): CounterColumn {
    let column = this.#counters.get(rule.family)
    if (!column) {
      column = rule.algorithm === 'token-bucket' ? new BucketColumn() : new WindowColumn(rule.windowMs, this.#windows)
      this.#counters.set(rule.family, column)
      this.addColumn(column)
    }
    column.registerRule(rule)
    return column
  }

  /** Adds a column, which grows with the table. */
  addColumn(column: Column): void {
    column.grow(this.#capacity)
    this.#columns.push(column)
  }

  find(id: string): number | undefined {
    return this.#slots.find(id)
  }

  idOf(slot: number): string | undefined {
    return this.#slots.idOf(slot)
  }

  /** A slot for a new id; undefined when the table is full and none of the slots visited may be evicted. */
  insert(id: string, now: number): number | undefined {
    this.#sweep(now)
    const slot = this.#slots.add(id) ?? (this.#evict(now) ? this.#slots.add(id) : undefined)
    if (slot !== undefined && slot >= this.#capacity) this.#grow()
    return slot
  }

  remove(id: string): void {
    const slot = this.#slots.find(id)
    if (slot !== undefined) this.#remove(slot)
  }

  #grow(): void {
    this.#capacity = Math.min(this.#maxKeys, Math.max(firstCapacity, this.#capacity * 2))
    this.#windows.grow(this.#capacity)
    for (const column of this.#columns) column.grow(this.#capacity)
  }

  /** Frees a few idle slots, so that the table grows only when there are none. */
  #sweep(now: number): void {
    for (let i = 0; i < slotsVisitedWhenGrowing && this.#slots.count > 0; i++) {
      const slot = this.#slots.next()
      if (this.#slots.idOf(slot) !== undefined && this.#every((column) => column.isIdle(slot, now))) this.#remove(slot)
    }
  }

  /** Frees an idle slot, else one that is under its limits; a blocked identifier is never evicted. */
  #evict(now: number): boolean {
    let victim: number | undefined
    for (let i = 0; i < slotsVisitedWhenFull; i++) {
      const slot = this.#slots.next()
      if (this.#slots.idOf(slot) === undefined) continue
      if (this.#every((column) => column.isIdle(slot, now))) {
        this.#remove(slot)
        return true
      }
      if (victim === undefined && this.#every((column) => !column.isBlocking(slot, now))) victim = slot
    }
    if (victim === undefined) return false
    this.#onEviction()
    this.#remove(victim)
    return true
  }

  #every(test: (column: Column) => boolean): boolean {
    return this.#columns.every(test)
  }

  #remove(slot: number): void {
    this.#slots.remove(slot)
    for (const column of this.#columns) column.clear(slot)
  }
}
