/**
 * Numbered places for ids, of which there are so many at most: what is kept of an id lies elsewhere, under its number.
 * When all are taken, whoever keeps them decides which may go, going round by `next`.
 */
export class Slots {
  readonly #maxSlots: number
  readonly #slots = new Map<string, number>()
  readonly #ids: (string | undefined)[] = []
  readonly #free: number[] = []
  #hand = 0

  constructor(most: number) {
    this.#maxSlots = most
  }

  /** Ids that have a place. */
  get size(): number {
    return this.#slots.size
  }

  /** Places ever taken: numbers from 0 to one below. */
  get count(): number {
    return this.#ids.length
  }

  find(id: string): number | undefined {
    return this.#slots.get(id)
  }

  idOf(slot: number): string | undefined {
    return this.#ids[slot]
  }

  /** A place for a new id: one that became free, else a new one; undefined when all are taken. */
  add(id: string): number | undefined {
    const slot = this.#free.pop() ?? (this.#ids.length < this.#maxSlots ? this.#ids.length : undefined)
    if (slot === undefined) return undefined
    this.#slots.set(id, slot)
    this.#ids[slot] = id
    return slot
  }

  /** Makes a place free. */
  remove(slot: number): void {
    const id = this.#ids[slot]
    if (id === undefined) return
    this.#slots.delete(id)
    this.#ids[slot] = undefined
    this.#free.push(slot)
  }

  /** The next place, round and round. */
  next(): number {
    this.#hand = this.#hand + 1 < this.#ids.length ? this.#hand + 1 : 0
    return this.#hand
  }
}
