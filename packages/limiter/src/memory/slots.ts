/**
 * Numbered slots for a bounded number of ids; the values of an id are stored elsewhere, under its number. When all are in
 * use, the owner decides which to free, visiting them in a circle by `next`.
 */
export class Slots {
  readonly #maxSlots: number
  readonly #slots = new Map<string, number>()
  readonly #ids: (string | undefined)[] = []
  readonly #free: number[] = []
  #position = 0

  constructor(maxSlots: number) {
    this.#maxSlots = maxSlots
  }

  /** Ids that have a slot. */
  get size(): number {
    return this.#slots.size
  }

  /** Slots that were ever in use: their numbers are below this. */
  get count(): number {
    return this.#ids.length
  }

  find(id: string): number | undefined {
    return this.#slots.get(id)
  }

  idOf(slot: number): string | undefined {
    return this.#ids[slot]
  }

  /** A slot for a new id: one that was freed, else a new one; undefined when all are in use. */
  add(id: string): number | undefined {
    const slot = this.#free.pop() ?? (this.#ids.length < this.#maxSlots ? this.#ids.length : undefined)
    if (slot === undefined) return undefined
    this.#slots.set(id, slot)
    this.#ids[slot] = id
    return slot
  }

  /** Frees a slot. */
  remove(slot: number): void {
    const id = this.#ids[slot]
    if (id === undefined) return
    this.#slots.delete(id)
    this.#ids[slot] = undefined
    this.#free.push(slot)
  }

  /** The next slot, in a circle. */
  next(): number {
    this.#position = this.#position + 1 < this.#ids.length ? this.#position + 1 : 0
    return this.#position
  }
}
