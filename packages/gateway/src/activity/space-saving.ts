/** A key of a {@link SpaceSaving} sketch. */
export interface SketchEntry {
  readonly key: string
  /** How often it was added at least: never more than the truth, and less by at most the sketch's `missed`. */
  readonly count: number
  /** When it was added last, in Unix milliseconds. */
  readonly at: number
}

interface Slot {
  key: string
  /** What it was added, and `inherited` from the key whose slot it took. */
  count: number
  inherited: number
  at: number
  /** Its place in the heap. */
  index: number
}

/**
 * Finds the most frequent keys of a stream in a fixed number of slots (space-saving; Metwally, Agrawal and El Abbadi
 * 2005). A key that finds no free slot takes that of the rarest one. Every key that was added more than `missed` times
 * is in it, and no count is more than `missed` too low.
 *
 * Slots are a binary heap by their counts, so that an addition costs a lookup and a few comparisons.
 */
export class SpaceSaving {
  readonly #capacity: number
  readonly #slots = new Map<string, Slot>()
  readonly #heap: Slot[] = []

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Adds a key once, at a time in Unix milliseconds. */
  add(key: string, at: number): void {
    const known = this.#slots.get(key)
    if (known !== undefined) {
      known.at = at
      this.#increment(known)
    } else if (this.#heap.length < this.#capacity) this.#insert(key, at)
    else this.#replaceRarest(key, at)
  }

  /** How much a count may be too low, and how often a key that is not in the sketch may have been added. */
  get missed(): number {
    return this.#heap.length < this.#capacity ? 0 : (this.#heap[0]?.count ?? 0)
  }

  /** The keys, in no order. */
  entries(): SketchEntry[] {
    return this.#heap.map(({ key, count, inherited, at }) => ({ key, count: count - inherited, at }))
  }

  #insert(key: string, at: number): void {
    const slot: Slot = { key, count: 1, inherited: 0, at, index: this.#heap.length }
    this.#slots.set(key, slot)
    this.#heap.push(slot)
    this.#siftUp(slot)
  }

  #replaceRarest(key: string, at: number): void {
    const slot = this.#heap[0]
    if (slot === undefined) return
    this.#slots.delete(slot.key)
    this.#slots.set(key, slot)
    slot.key = key
    slot.inherited = slot.count
    slot.at = at
    this.#increment(slot)
  }

  #siftUp(slot: Slot): void {
    while (slot.index > 0) {
      const parent = this.#heap[(slot.index - 1) >> 1] as Slot
      if (parent.count <= slot.count) return
      this.#swap(slot, parent)
    }
  }

  #increment(slot: Slot): void {
    slot.count++
    for (;;) {
      const left = this.#heap[2 * slot.index + 1]
      const right = this.#heap[2 * slot.index + 2]
      const child = right !== undefined && left !== undefined && right.count < left.count ? right : left
      if (child === undefined || child.count >= slot.count) return
      this.#swap(child, slot)
    }
  }

  #swap(one: Slot, other: Slot): void {
    const { index } = one
    one.index = other.index
    other.index = index
    this.#heap[one.index] = one
    this.#heap[other.index] = other
  }
}
