import { SlotIndex } from './slot-index.ts'

/**
 * Numbered slots for a bounded number of ids; the values of an id are stored elsewhere, under its number. When all are in
 * use, the owner decides which to free, visiting them in a circle by `next`.
 */
export class Slots {
  readonly #maxSlots: number
  readonly #index = new SlotIndex()
  readonly #free: number[] = []
  #position = 0

  constructor(maxSlots: number) {
    this.#maxSlots = maxSlots
  }

  /** Ids that have a slot. */
  get size(): number {
    return this.#index.size
  }

  /** Slots that were ever in use: their numbers are below this. */
  get count(): number {
    return this.#index.ids.length
  }

  find(id: string): number | undefined {
    return this.#index.find(id)
  }

  idOf(slot: number): string | undefined {
    return this.#index.ids[slot]
  }

  /** A slot for a new id: one that was freed, else a new one; undefined when all are in use. */
  add(id: string): number | undefined {
    const slot = this.#free.pop() ?? (this.count < this.#maxSlots ? this.count : undefined)
    if (slot === undefined) return undefined
    this.#index.add(id, slot)
    return slot
  }

  /** Frees a slot. */
  remove(slot: number): void {
    if (this.#index.remove(slot)) this.#free.push(slot)
  }

  /** The next slot, in a circle. */
  next(): number {
    this.#position = this.#position + 1 < this.count ? this.#position + 1 : 0
    return this.#position
  }
}
