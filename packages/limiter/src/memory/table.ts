import type { CountedRule } from '../rule.ts'
import { BucketColumn } from './bucket-column.ts'
import type { Column, CounterColumn } from './column.ts'
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
  readonly #slots = new Map<string, number>()
  readonly #ids: (string | undefined)[] = []
  readonly #free: number[] = []
  readonly #windows = new WindowCells()
  readonly #columns: Column[] = []
  readonly #counters = new Map<string, CounterColumn>()
  readonly #maxKeys: number
  readonly #onEviction: () => void
  #capacity = 0
  #hand = 0

  /** `maxKeys` identifiers at most; `onEviction` hears when one had to go although its counters still mattered. */
  constructor(maxKeys: number, onEviction: () => void) {
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
    column.serve(rule)
    return column
  }

  /** Gives a column room for every slot, and keeps it so. */
  adopt(column: Column): void {
    column.grow(this.#capacity)
    this.#columns.push(column)
  }

  find(id: string): number | undefined {
    return this.#slots.get(id)
  }

  idOf(slot: number): string | undefined {
    return this.#ids[slot]
  }

  /** A slot for a new id; undefined when the table is full of what must not be forgotten. */
  insert(id: string, now: number): number | undefined {
    this.#sweep(now)
    const slot = this.#vacant(now)
    if (slot === undefined) return undefined
    this.#slots.set(id, slot)
    this.#ids[slot] = id
    return slot
  }

  remove(id: string): void {
    const slot = this.#slots.get(id)
    if (slot !== undefined) this.#forget(slot, id)
  }

  #vacant(now: number): number | undefined {
    const free = this.#free.pop()
    if (free !== undefined) return free
    if (this.#ids.length < this.#maxKeys) {
      if (this.#ids.length === this.#capacity) this.#grow()
      return this.#ids.push(undefined) - 1
    }
    return this.#evict(now)
  }

  #grow(): void {
    this.#capacity = Math.min(this.#maxKeys, Math.max(firstCapacity, this.#capacity * 2))
    this.#windows.grow(this.#capacity)
    for (const column of this.#columns) column.grow(this.#capacity)
  }

  /** Frees a few idle slots before the table would grow for want of them. */
  #sweep(now: number): void {
    for (let i = 0; i < slotsLookedAtWhenGrowing && this.#ids.length > 0; i++) {
      const slot = this.#nextSlot()
      const id = this.#ids[slot]
      if (id !== undefined && this.#every((column) => column.idle(slot, now))) this.#forget(slot, id)
    }
  }

  /** Looks for an idle slot, then for one that is under its limits; a block is never forgotten. */
  #evict(now: number): number | undefined {
    let victim: number | undefined
    for (let i = 0; i < slotsLookedAtWhenFull; i++) {
      const slot = this.#nextSlot()
      const id = this.#ids[slot]
      if (id === undefined) continue
      if (this.#every((column) => column.idle(slot, now))) {
        this.#forget(slot, id)
        return this.#free.pop()
      }
      if (victim === undefined && this.#every((column) => !column.blocks(slot, now))) victim = slot
    }
    const id = victim === undefined ? undefined : this.#ids[victim]
    if (victim === undefined || id === undefined) return undefined
    this.#onEviction()
    this.#forget(victim, id)
    return this.#free.pop()
  }

  #nextSlot(): number {
    this.#hand = this.#hand + 1 < this.#ids.length ? this.#hand + 1 : 0
    return this.#hand
  }

  #every(test: (column: Column) => boolean): boolean {
    return this.#columns.every(test)
  }

  #forget(slot: number, id: string): void {
    this.#slots.delete(id)
    this.#ids[slot] = undefined
    for (const column of this.#columns) column.clear(slot)
    this.#free.push(slot)
  }
}
