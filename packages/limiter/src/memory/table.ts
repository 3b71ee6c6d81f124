import type { CountedRule } from '../rule.ts'
import { BucketColumn, type Column, WindowColumn } from './columns.ts'

export interface TableOptions {
  /** The most identifiers kept. */
  readonly maxKeys: number
  /** Told when an identifier had to go although its counters still mattered. */
  readonly onEviction: () => void
}

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
  readonly #columns = new Map<string, Column>()
  readonly #options: TableOptions
  #capacity = 0
  #hand = 0

  constructor(options: TableOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#slots.size
  }

  get columns(): Iterable<Column> {
    return this.#columns.values()
  }

  /** The window column of a rule's family. */
  windowColumn(rule: CountedRule): WindowColumn {
    const column = this.column(rule.family, () => new WindowColumn(rule.windowMs))
    if (!(column instanceof WindowColumn)) throw new TypeError(`family "${rule.family}" is no window`)
    column.serve(rule)
    return column
  }

  /** The bucket column of a rule's family. */
  bucketColumn(rule: CountedRule): BucketColumn {
    const column = this.column(rule.family, () => new BucketColumn(rule))
    if (!(column instanceof BucketColumn)) throw new TypeError(`family "${rule.family}" is no bucket`)
    column.serve(rule)
    return column
  }

  /** The column of that name, made at first use. */
  column<C extends Column>(name: string, make: () => C): Column {
    const found = this.#columns.get(name)
    if (found) return found
    const column = make()
    column.grow(this.#capacity)
    this.#columns.set(name, column)
    return column
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
    if (this.#ids.length < this.#options.maxKeys) {
      if (this.#ids.length === this.#capacity) this.#grow()
      return this.#ids.push(undefined) - 1
    }
    return this.#evict(now)
  }

  #grow(): void {
    this.#capacity = Math.min(this.#options.maxKeys, Math.max(firstCapacity, this.#capacity * 2))
    for (const column of this.#columns.values()) column.grow(this.#capacity)
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
    this.#options.onEviction()
    this.#forget(victim, id)
    return this.#free.pop()
  }

  #nextSlot(): number {
    this.#hand = this.#hand + 1 < this.#ids.length ? this.#hand + 1 : 0
    return this.#hand
  }

  #every(test: (column: Column) => boolean): boolean {
    for (const column of this.#columns.values()) if (!test(column)) return false
    return true
  }

  #forget(slot: number, id: string): void {
    this.#slots.delete(id)
    this.#ids[slot] = undefined
    for (const column of this.#columns.values()) column.clear(slot)
    this.#free.push(slot)
  }
}
