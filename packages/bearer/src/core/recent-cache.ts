/** Something remembered, and how much of the memory it takes. */
export interface Weighted {
  readonly weight: number
}

/**
 * A bounded memory of the recently used, by entries and by weight. Two generations: what is found in the old one moves
 * to the young one, and when the young one is full it becomes the old one and the rest is forgotten. Nothing is written
 * on a hit in the young generation.
 */
export class RecentCache<Value extends Weighted> {
  readonly #entriesEach: number
  readonly #weightEach: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #youngWeight = 0

  /** @param limits most entries and most weight, held at any time */
  constructor(limits: { readonly entries: number; readonly weight: number }) {
    this.#entriesEach = Math.max(1, Math.floor(limits.entries / 2))
    this.#weightEach = limits.weight / 2
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

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

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
    this.#youngWeight = 0
  }

  delete(key: string): void {
    this.#old.delete(key)
    const young = this.#young.get(key)
    if (young === undefined) return
    this.#young.delete(key)
    this.#youngWeight -= young.weight
  }
}
