import * as slidingWindow from '../algorithms/sliding-window.ts'
import { elapsedMs, windowIndex } from '../algorithms/window.ts'

const rows = 4
const width = 8192

/**
 * Counts identifiers that found no place, in a count-min sketch of fixed size: it may count too much, never too little,
 * so that a flood of new identifiers cannot buy anyone a fresh limit. One sketch a window length, sliding.
 */
export class Sketch {
  readonly #windowMs: number
  #index = 0
  #prev = new Uint32Array(rows * width)
  #cur = new Uint32Array(rows * width)

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Previous and current count of an id, at least what was taken. */
  read(id: string, now: number): [prev: number, cur: number] {
    this.#turnTo(now)
    return [this.#minimum(this.#prev, id), this.#minimum(this.#cur, id)]
  }

  add(id: string, cost: number, now: number): void {
    this.#turnTo(now)
    const floor = this.#minimum(this.#cur, id) + cost
    for (let row = 0; row < rows; row++) {
      const at = cellOf(id, row)
      this.#cur[at] = Math.max(this.#cur[at] ?? 0, floor)
    }
  }

  admits(id: string, limit: number, cost: number, now: number): boolean {
    const [prev, cur] = this.read(id, now)
    return slidingWindow.admits(prev, cur, elapsedMs(now, this.#windowMs), this.#windowMs, limit, cost)
  }

  #turnTo(now: number): void {
    const index = windowIndex(now, this.#windowMs)
    if (index <= this.#index) return
    const behind = index - this.#index
    this.#index = index
    ;[this.#prev, this.#cur] = [this.#cur, this.#prev]
    this.#cur.fill(0)
    if (behind > 1) this.#prev.fill(0)
  }

  #minimum(counts: Uint32Array, id: string): number {
    let least = Number.POSITIVE_INFINITY
    for (let row = 0; row < rows; row++) least = Math.min(least, counts[cellOf(id, row)] ?? 0)
    return least
  }
}

/** FNV-1a, seeded by the row. */
function cellOf(id: string, row: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(row + 1, 0x9e3779b1)
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return row * width + ((hash ^ (hash >>> 13)) & (width - 1))
}
