import type { CountedRule } from '../rule.ts'
import { BucketColumn } from './bucket-column.ts'
import type { Column, CounterColumn } from './column.ts'
import { Slots } from './slots.ts'
import { WindowCells } from './window-cells.ts'
import { WindowColumn } from './window-column.ts'

const firstCapacity = 1024
const slotsLookedAtWhenGrowing = 4
const slotsLookedAtWhenFull = 64

/**
 * Identifiers of one kind and their counters: a map from id to slot, and one column of counters a family. No timer and no
 * object per identifier; what no longer matters is found by a hand that moves on a little at every new identifier.
 */
export class Table {
  readonly #slots: Slots
  readonly #windows = new WindowCells()
  readonly #columns: Column[] = []
  readonly #counters = new Map<string, CounterColumn>()
  readonly #maxKeys: number
  readonly #onEviction: () => void
  #capacity = 0

  /** `maxKeys` identifiers at most; `onEviction` hears when one had to go although its counters still mattered. */
  constructor(maxKeys: number, onEviction: () => void) {
    this.#slots = new Slots(maxKeys)
    this.#maxKeys = maxKeys
    this.#onEviction = onEviction
  }

  get size(): number {
    return this.#slots.size
  }

  /** Where a rule is counted: rules of one family share a column. */
  counters(rule: CountedRule): CounterColumn {
    let column = this.#counters.get(rule.family)
    if (!column) {
      column =
        rule.algorithm === 'token-bucket' ? new BucketColumn(rule) : new WindowColumn(rule.windowMs, this.#windows)
      this.#counters.set(rule.family, column)
      this.adopt(column)
    }
    column.registerRule(rule)
    return column
  }

  /** Gives a column room for every slot, and keeps it so. */
  adopt(column: Column): void {
    column.grow(this.#capacity)
    this.#columns.push(column)
  }

  find(id: string): number | undefined {
    return this.#slots.find(id)
  }

  idOf(slot: number): string | undefined {
    return this.#slots.idOf(slot)
  }

  /** A slot for a new id; undefined when the table is full of what must not be forgotten. */
  insert(id: string, now: number): number | undefined {
    this.#sweep(now)
    const slot = this.#slots.add(id) ?? (this.#evict(now) ? this.#slots.add(id) : undefined)
    if (slot !== undefined && slot >= this.#capacity) this.#grow()
    return slot
  }

  remove(id: string): void {
    const slot = this.#slots.find(id)
    if (slot !== undefined) this.#forget(slot)
  }

  #grow(): void {
    this.#capacity = Math.min(this.#maxKeys, Math.max(firstCapacity, this.#capacity * 2))
    this.#windows.grow(this.#capacity)
    for (const column of this.#columns) column.grow(this.#capacity)
  }

  /** Frees a few idle slots before the table would grow for want of them. */
  #sweep(now: number): void {
    for (let i = 0; i < slotsLookedAtWhenGrowing && this.#slots.count > 0; i++) {
      const slot = this.#slots.next()
      if (this.#slots.idOf(slot) !== undefined && this.#every((column) => column.isIdle(slot, now))) this.#forget(slot)
    }
  }

  /** Frees an idle slot, else one that is under its limits; a block is never forgotten. */
  #evict(now: number): boolean {
    let victim: number | undefined
    for (let i = 0; i < slotsLookedAtWhenFull; i++) {
      const slot = this.#slots.next()
      if (this.#slots.idOf(slot) === undefined) continue
      if (this.#every((column) => column.isIdle(slot, now))) {
        this.#forget(slot)
        return true
      }
      if (victim === undefined && this.#every((column) => !column.isBlocking(slot, now))) victim = slot
    }
    if (victim === undefined) return false
    this.#onEviction()
    this.#forget(victim)
    return true
  }

  #every(test: (column: Column) => boolean): boolean {
    return this.#columns.every(test)
  }

  #forget(slot: number): void {
    this.#slots.remove(slot)
    for (const column of this.#columns) column.clear(slot)
  }
}
