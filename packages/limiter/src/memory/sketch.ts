import * as slidingWindow from '../algorithms/sliding-window.ts'
import { elapsedMs, windowIndex } from '../algorithms/window.ts'

const rows = 4
const width = 8192
const maxCount = 2 ** 31 - 1
const maxReturns = 10_000

/**
 * Counts identifiers that found no slot, in a count-min sketch of fixed size: a count may be too high, never too low, so
 * that a flood of new identifiers cannot reset anybody's limit. One sketch for each window length, sliding.
 */
export class Sketch {
  readonly #windowMs: number
  #index = 0
  #prev = new Counts()
  #cur = new Counts()

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Previous and current count of an id, at least what was acquired and not returned. */
  read(id: string, now: number): [prev: number, cur: number] {
    this.#advanceTo(now)
    return [this.#prev.read(id), this.#cur.read(id)]
  }

  /** Adds to the count of the window of `countedAt`; below zero returns units. */
  add(id: string, amount: number, now: number, countedAt = now): void {
    this.#advanceTo(now)
    const windowsAgo = windowIndex(now, this.#windowMs) - windowIndex(countedAt, this.#windowMs)
    if (windowsAgo <= 0) this.#cur.add(id, amount)
    else if (windowsAgo === 1) this.#prev.add(id, amount)
  }

  /** As `add` of units that are returned, to the current window and then to the previous one, to no count below zero. */
  returnUnits(id: string, amount: number, now: number): void {
    const [prev, cur] = this.read(id, now)
    const ofCur = Math.min(cur, amount)
    this.#cur.add(id, -ofCur)
    this.#prev.add(id, -Math.min(prev, amount - ofCur))
  }

  /** Raises the counts to at least these. */
  raise(id: string, [prev, cur]: readonly [prev: number, cur: number], now: number): void {
    this.#advanceTo(now)
    this.#prev.raise(id, prev)
    this.#cur.raise(id, cur)
  }

  reset(id: string, now: number): void {
    const [prev, cur] = this.read(id, now)
    this.#prev.add(id, -prev)
    this.#cur.add(id, -cur)
  }

  /** Whether a rule with windows of this length admits `cost`. */
  admits(id: string, { limit }: { readonly limit: number }, cost: number, now: number): boolean {
    const windowMs = this.#windowMs
    const [prev, cur] = this.read(id, now)
    return slidingWindow.admits({ limit, windowMs }, prev, cur + cost, windowMs - elapsedMs(now, windowMs))
  }

  /** As in `WindowColumn`, a clock that moved back by more than a window takes the counts with it. */
  #advanceTo(now: number): void {
    const index = windowIndex(now, this.#windowMs)
    const behind = index - this.#index
    if (behind === 0 || behind === -1) return
    this.#index = index
    if (behind < 0) return
    ;[this.#prev, this.#cur] = [this.#cur, this.#prev]
    this.#cur.clear()
    if (behind > 1) this.#prev.clear()
  }
}

/**
 * The counts of one window. Cells are shared, so they are never lowered: what was returned is remembered for each id, of
 * up to 10,000 ids. Of others nothing is returned, which their counts show.
 */
class Counts {
  readonly #cells = new Uint32Array(rows * width)
  readonly #returned = new Map<string, number>()

  read(id: string): number {
    const count = this.#minimum(id)
    return count < maxCount ? count - (this.#returned.get(id) ?? 0) : count
  }

  add(id: string, amount: number): void {
    if (amount > 0) this.#lift(id, this.#minimum(id) + amount)
    else if (amount < 0 && (this.#returned.has(id) || this.#returned.size < maxReturns))
      this.#returned.set(id, (this.#returned.get(id) ?? 0) - amount)
  }

  raise(id: string, count: number): void {
    this.#lift(id, count + (this.#returned.get(id) ?? 0))
  }

  clear(): void {
    this.#cells.fill(0)
    this.#returned.clear()
  }

  #lift(id: string, count: number): void {
    const floor = Math.min(maxCount, Math.ceil(count))
    for (let row = 0; row < rows; row++) {
      const at = cellOf(id, row)
      this.#cells[at] = Math.max(this.#cells[at] ?? 0, floor)
    }
  }

  #minimum(id: string): number {
    let min = Number.POSITIVE_INFINITY
    for (let row = 0; row < rows; row++) min = Math.min(min, this.#cells[cellOf(id, row)] ?? 0)
    return min
  }
}

/** FNV-1a, seeded by the row. */
function cellOf(id: string, row: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(row + 1, 0x9e3779b1)
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return row * width + ((hash ^ (hash >>> 13)) & (width - 1))
}
