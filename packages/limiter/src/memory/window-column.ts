import * as fixedWindow from '../algorithms/fixed-window.ts'
import * as slidingWindow from '../algorithms/sliding-window.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterColumn } from './column.ts'

const highestCount = 2 ** 31 - 1

/** Counts of windows of one length, three 32-bit numbers a slot: window index, previous count, current count. */
export class WindowColumn implements CounterColumn {
  readonly #windowMs: number
  #cells = new Int32Array(0)
  /** The window of the time last seen: its index, of which 32 bits are kept, and its start. */
  #index = 0
  #startMs = Number.NaN
  /** The smallest limit counted here: what reaches it counts as a block. */
  #smallestLimit = Number.POSITIVE_INFINITY

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  serve(rule: CountedRule): void {
    this.#smallestLimit = Math.min(this.#smallestLimit, rule.limit)
  }

  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean {
    const elapsed = this.#turnTo(now)
    const at = this.#roll(slot)
    const cur = this.#cells[at + 2] ?? 0
    if (rule.algorithm === 'fixed-window') return fixedWindow.admits(cur, rule.limit, cost)
    return slidingWindow.admits(this.#cells[at + 1] ?? 0, cur, elapsed, rule.windowMs, rule.limit, cost)
  }

  take(slot: number, _rule: CountedRule, cost: number): void {
    const at = slot * 3 + 2
    this.#cells[at] = Math.min(highestCount, (this.#cells[at] ?? 0) + cost)
  }

  read(slot: number, rule: CountedRule, into: number[]): void {
    const at = slot * 3
    into.push(rule.algorithm === 'fixed-window' ? 0 : (this.#cells[at + 1] ?? 0), this.#cells[at + 2] ?? 0)
  }

  write(slot: number, rule: CountedRule, a: number, b: number, now: number): void {
    this.#turnTo(now)
    const at = this.#roll(slot)
    if (rule.algorithm !== 'fixed-window') this.#cells[at + 1] = Math.min(highestCount, a)
    this.#cells[at + 2] = Math.min(highestCount, b)
  }

  raise(slot: number, rule: CountedRule, a: number, b: number, now: number): void {
    this.#turnTo(now)
    const at = this.#roll(slot)
    this.write(slot, rule, Math.max(a, this.#cells[at + 1] ?? 0), Math.max(b, this.#cells[at + 2] ?? 0), now)
  }

  holdsMore(slot: number, rule: CountedRule, a: number, b: number, now: number): boolean {
    this.#turnTo(now)
    const at = this.#roll(slot)
    return (this.#cells[at + 2] ?? 0) > b || (rule.algorithm !== 'fixed-window' && (this.#cells[at + 1] ?? 0) > a)
  }

  grow(capacity: number): void {
    const cells = new Int32Array(capacity * 3)
    cells.set(this.#cells)
    this.#cells = cells
  }

  clear(slot: number): void {
    this.#cells.fill(0, slot * 3, slot * 3 + 3)
  }

  idle(slot: number, now: number): boolean {
    this.#turnTo(now)
    const at = this.#roll(slot)
    return this.#cells[at + 1] === 0 && this.#cells[at + 2] === 0
  }

  blocks(slot: number, now: number): boolean {
    const elapsed = this.#turnTo(now)
    const at = this.#roll(slot)
    const [prev = 0, cur = 0] = [this.#cells[at + 1], this.#cells[at + 2]]
    return !slidingWindow.admits(prev, cur, elapsed, this.#windowMs, this.#smallestLimit, 1)
  }

  /** Turns to the window of `now` and answers the milliseconds elapsed in it. */
  #turnTo(now: number): number {
    const elapsed = now - this.#startMs
    if (elapsed >= 0 && elapsed < this.#windowMs) return elapsed
    const index = Math.floor(now / this.#windowMs)
    this.#index = index | 0
    this.#startMs = index * this.#windowMs
    return now - this.#startMs
  }

  /** Moves a slot's counts to the window turned to, and answers where they are. A clock that went back moves nothing. */
  #roll(slot: number): number {
    const cells = this.#cells
    const at = slot * 3
    const behind = (this.#index - (cells[at] ?? 0)) | 0
    if (behind === 0) return at
    if (behind === 1) cells[at + 1] = cells[at + 2] ?? 0
    else if (behind > 1) cells[at + 1] = 0
    else if (cells[at + 1] !== 0 || cells[at + 2] !== 0) return at
    cells[at] = this.#index
    cells[at + 2] = 0
    return at
  }
}
