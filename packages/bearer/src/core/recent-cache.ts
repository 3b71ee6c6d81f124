/** A cached value and its share of the cache. */
export interface Weighted {
  readonly weight: number
}

/**
 * A cache of recently used values, bounded by entries and by weight. It has two generations: a hit in the old one moves
 * to the young one; a full young one becomes the old one, and the previous old one is dropped. A hit in the young
 * generation writes nothing.
 */
export class RecentCache<Value extends Weighted> {
  readonly #entriesEach: number
  readonly #weightEach: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #youngWeight = 0

  /** @param limits the maximum of entries and of weight at any time */
  constructor(limits: { readonly entries: number; readonly weight: number }) {
    this.#entriesEach = Math.max(1, Math.floor(limits.entries / 2))
    this.#weightEach = limits.weight / 2
  }

  /** Entries of both generations. */
  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** The value of a key, which becomes recent. */
  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  /** Stores a value. One heavier than half of the cache is not stored. */
  set(key: string, value: Value): void {
    const { weight } = value
    if (weight > this.#weightEach) return
    this.delete(key)
    if (this.#young.size >= this.#entriesEach || this.#youngWeight + weight > this.#weightEach) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngWeight = 0
    }
    this.#young.set(key, value)
    this.#youngWeight += weight
  }

  /** Removes everything. */
  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
    this.#youngWeight = 0
  }

  /** Removes one value. */
  delete(key: string): void {
    this.#old.delete(key)
    const young = this.#young.get(key)
    if (young === undefined) return
    this.#young.delete(key)
    this.#youngWeight -= young.weight
  }
}
