const firstPlaces = 2_048

/**
 * Finds the slots of ids: a hash table with open addressing in one typed array, which holds the hash of an id and its
 * slot side by side. A `Map` reads four places in memory that are far apart before it has found a slot, and at many ids
 * each of them is a cache miss. At most half of the places are in use.
 */
export class SlotIndex {
  /** The id of each slot; undefined for a slot that is free. */
  readonly ids: (string | undefined)[] = []
  /** For each place the hash of an id, and its slot plus one; 0 for a place that is free. */
  #table = new Int32Array(2 * firstPlaces)
  #mask = firstPlaces - 1
  #size = 0

  get size(): number {
    return this.#size
  }

  find(id: string): number | undefined {
    const hash = hashOf(id)
    const table = this.#table
    const mask = this.#mask
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const slot = (table[2 * place + 1] ?? 0) - 1
      if (slot < 0) return undefined
      if (table[2 * place] === hash && this.ids[slot] === id) return slot
    }
  }

  /** Adds an id that has no slot. */
  add(id: string, slot: number): void {
    if (2 * this.#size > this.#mask) this.#grow()
    this.#size++
    this.ids[slot] = id
    this.#insert(hashOf(id), slot + 1)
  }

  /** Removes the id of a slot; false when it has none. */
  remove(slot: number): boolean {
    const id = this.ids[slot]
    if (id === undefined) return false
    this.#size--
    this.ids[slot] = undefined
    let place = hashOf(id) & this.#mask
    while (this.#table[2 * place + 1] !== slot + 1) place = (place + 1) & this.#mask
    this.#close(place)
    return true
  }

  #insert(hash: number, slotPlusOne: number): void {
    let place = hash & this.#mask
    while (this.#table[2 * place + 1] !== 0) place = (place + 1) & this.#mask
    this.#table[2 * place] = hash
    this.#table[2 * place + 1] = slotPlusOne
  }

  /** Frees a place, and moves back the entries behind it that would not be found any more. */
  #close(gap: number): void {
    const table = this.#table
    const mask = this.#mask
    for (let place = (gap + 1) & mask; table[2 * place + 1] !== 0; place = (place + 1) & mask) {
      const first = (table[2 * place] ?? 0) & mask
      if (((place - first) & mask) < ((place - gap) & mask)) continue
      table[2 * gap] = table[2 * place] ?? 0
      table[2 * gap + 1] = table[2 * place + 1] ?? 0
      gap = place
    }
    table[2 * gap + 1] = 0
  }

  #grow(): void {
    const old = this.#table
    this.#mask = 2 * this.#mask + 1
    this.#table = new Int32Array(2 * (this.#mask + 1))
    for (let at = 0; at < old.length; at += 2) {
      const slotPlusOne = old[at + 1] ?? 0
      if (slotPlusOne !== 0) this.#insert(old[at] ?? 0, slotPlusOne)
    }
  }
}

/** Secret to this process, or a client could choose ids that collide. */
const [seed = 0, half = 0] = crypto.getRandomValues(new Uint32Array(2))
const factor = (half | 1) >>> 0

function hashOf(id: string): number {
  let hash = seed
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), factor)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return hash ^ (hash >>> 13)
}
