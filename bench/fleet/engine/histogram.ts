const perOctave = 16
const buckets = 400
const smallestMs = 0.01

/** Counts of durations in classes that grow by 4.4 %, so that a quantile is that exact. */
export class Histogram {
  readonly #counts = new Float64Array(buckets)
  #total = 0
  #sumMs = 0

  get count(): number {
    return this.#total
  }

  /** In milliseconds; 0 where nothing was counted. */
  get meanMs(): number {
    return this.#total === 0 ? 0 : this.#sumMs / this.#total
  }

  add(milliseconds: number, count = 1): void {
    const place = Math.round(Math.log2(Math.max(milliseconds, smallestMs) / smallestMs) * perOctave)
    const index = Math.min(place, buckets - 1)
    this.#counts[index] = (this.#counts[index] ?? 0) + count
    this.#total += count
    this.#sumMs += milliseconds * count
  }

  merge(other: Histogram): void {
    for (const [index, count] of other.#counts.entries()) this.#counts[index] = (this.#counts[index] ?? 0) + count
    this.#total += other.#total
    this.#sumMs += other.#sumMs
  }

  /** The duration that this share of all does not exceed, in milliseconds; 0 where nothing was counted. */
  quantile(share: number): number {
    let left = this.#total * share
    for (const [index, count] of this.#counts.entries()) {
      left -= count
      if (count > 0 && left <= 0) return smallestMs * 2 ** (index / perOctave)
    }
    return 0
  }
}
