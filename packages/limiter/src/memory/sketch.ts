import * as slidingWindow from '../algorithms/sliding-window.ts'
import { elapsedMs, windowIndex } from '../algorithms/window.ts'

const rows = 4
const width = 8192

/**
 * Counts identifiers that found no slot, in a count-min sketch of fixed size: a count may be too high, never too low, so
 * that a flood of new identifiers cannot reset anybody's limit. One sketch for each window length, sliding.
 */
export class Sketch {
  readonly #windowMs: number
  #index = 0
  #prev = new Uint32Array(rows * width)
  #cur = new Uint32Array(rows * width)

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Previous and current count of an id, at least what was acquired. */
  read(id: string, now: number): [prev: number, cur: number] {
    this.#advanceTo(now)
    return [minimum(this.#prev, id), minimum(this.#cur, id)]
  }

  add(id: string, cost: number, now: number): void {
    this.#advanceTo(now)
    const floor = minimum(this.#cur, id) + cost
    for (let row = 0; row < rows; row++) {
      const at = cellOf(id, row)
      this.#cur[at] = Math.max(this.#cur[at] ?? 0, floor)
    }
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
    this.#cur.fill(0)
    if (behind > 1) this.#prev.fill(0)
  }
}

function minimum(counts: Uint32Array, id: string): number {
  let min = Number.POSITIVE_INFINITY
  for (let row = 0; row < rows; row++) min = Math.min(min, counts[cellOf(id, row)] ?? 0)
  return min
}

/** FNV-1a, seeded by the row. */
function cellOf(id: string, row: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(row + 1, 0x9e3779b1)
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return row * width + ((hash ^ (hash >>> 13)) & (width - 1))
}
