import * as slidingWindow from '../algorithms/sliding-window.ts'
import * as tokenBucket from '../algorithms/token-bucket.ts'
import type { CountedRule } from '../rule.ts'

/** Counters of one family for every slot of a table, in one typed array. */
export interface Column {
  /** Makes room for `capacity` slots. */
  grow(capacity: number): void
  /** Forgets a slot's counters. */
  clear(slot: number): void
  /** True when a slot's counters no longer matter. */
  idle(slot: number, now: number): boolean
  /** True when forgetting a slot would forget a block. */
  blocks(slot: number, now: number): boolean
}

/** Previous and current count of a window, three 32-bit numbers a slot: window index, previous, current. */
export class WindowColumn implements Column {
  readonly windowMs: number
  cells = new Int32Array(0)
  /** The window of the time last seen: its index as 32 bits, and its start. */
  index = 0
  startMs = Number.NaN
  /** The smallest limit counted here: what reaches it counts as a block. */
  #smallestLimit = Number.POSITIVE_INFINITY

  constructor(windowMs: number) {
    this.windowMs = windowMs
  }

  serve(rule: CountedRule): void {
    this.#smallestLimit = Math.min(this.#smallestLimit, rule.limit)
  }

  /** Turns to the window of `now` and answers the milliseconds elapsed in it. */
  turnTo(now: number): number {
    const elapsed = now - this.startMs
    if (elapsed >= 0 && elapsed < this.windowMs) return elapsed
    const index = Math.floor(now / this.windowMs)
    this.index = index | 0
    this.startMs = index * this.windowMs
    return now - this.startMs
  }

  /** Moves a slot's counts to the window turned to, and answers where they are. A clock that went back moves nothing. */
  roll(slot: number): number {
    const { cells, index } = this
    const at = slot * 3
    const behind = (index - (cells[at] ?? 0)) | 0
    if (behind === 0) return at
    if (behind === 1) cells[at + 1] = cells[at + 2] ?? 0
    else if (behind > 1) cells[at + 1] = 0
    else if (cells[at + 1] !== 0 || cells[at + 2] !== 0) return at
    cells[at] = index
    cells[at + 2] = 0
    return at
  }

  grow(capacity: number): void {
    this.cells = grown(this.cells, new Int32Array(capacity * 3))
  }

  clear(slot: number): void {
    this.cells.fill(0, slot * 3, slot * 3 + 3)
  }

  idle(slot: number, now: number): boolean {
    this.turnTo(now)
    const at = this.roll(slot)
    return this.cells[at + 1] === 0 && this.cells[at + 2] === 0
  }

  blocks(slot: number, now: number): boolean {
    const elapsed = this.turnTo(now)
    const at = this.roll(slot)
    const [prev = 0, cur = 0] = [this.cells[at + 1], this.cells[at + 2]]
    return !slidingWindow.admits(prev, cur, elapsed, this.windowMs, this.#smallestLimit, 1)
  }
}

/** Tokens and the time they were refilled at plus one, two floats a slot; 0 means never touched, which is full. */
export class BucketColumn implements Column {
  cells = new Float64Array(0)
  #rule: CountedRule

  constructor(rule: CountedRule) {
    this.#rule = rule
  }

  serve(rule: CountedRule): void {
    if (rule.limit < this.#rule.limit) this.#rule = rule
  }

  /** Refills a slot for a rule of this family, and answers where its tokens are. */
  refill(slot: number, rule: CountedRule, now: number): number {
    const at = slot * 2
    const tokens = this.cells[at] ?? 0
    const stamp = this.cells[at + 1] ?? 0
    this.cells[at] = stamp === 0 ? rule.limit : tokenBucket.refill(tokens, stamp - 1, now, rule.limit, rule.refillPerMs)
    this.cells[at + 1] = Math.max(now + 1, stamp)
    return at
  }

  grow(capacity: number): void {
    this.cells = grown(this.cells, new Float64Array(capacity * 2))
  }

  clear(slot: number): void {
    this.cells.fill(0, slot * 2, slot * 2 + 2)
  }

  idle(slot: number, now: number): boolean {
    return this.#tokens(slot, now) >= this.#rule.limit
  }

  blocks(slot: number, now: number): boolean {
    return this.#tokens(slot, now) < 1
  }

  #tokens(slot: number, now: number): number {
    const { limit, refillPerMs } = this.#rule
    const stamp = this.cells[slot * 2 + 1] ?? 0
    return stamp === 0 ? limit : tokenBucket.refill(this.cells[slot * 2] ?? 0, stamp - 1, now, limit, refillPerMs)
  }
}

function grown<A extends Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(from: A, to: A): A {
  to.set(from)
  return to
}
