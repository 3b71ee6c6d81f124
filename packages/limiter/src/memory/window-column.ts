import * as fixedWindow from '../algorithms/fixed-window.ts'
import * as slidingWindow from '../algorithms/sliding-window.ts'
import { windowIndex } from '../algorithms/window.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterColumn } from './column.ts'
import type { WindowCells } from './window-cells.ts'

const highestCount = 2 ** 31 - 1

/** Counts of windows of one length: for each slot the window's index, the previous and the current count. */
export class WindowColumn implements CounterColumn {
  readonly #windowMs: number
  readonly #block: WindowCells
  readonly #offset: number
  /** The window of the time last seen: its index, of which 32 bits are kept, and its start. */
  #index = 0
  #startMs = Number.NaN
  /** Where the slot of the last `fits` lies. */
  #at = 0
  /** The smallest limit counted here: what reaches it counts as a block. */
  #smallestLimit = Number.POSITIVE_INFINITY

  constructor(windowMs: number, block: WindowCells) {
    this.#windowMs = windowMs
    this.#block = block
    this.#offset = block.addWindow()
  }

  registerRule(rule: CountedRule): void {
    this.#smallestLimit = Math.min(this.#smallestLimit, rule.limit)
  }

  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean {
    const elapsed = this.#turnTo(now)
    const at = this.#roll(slot)
    this.#at = at
    const { cells } = this.#block
    const cur = cells[at + 2] ?? 0
    if (rule.algorithm === 'fixed-window') return fixedWindow.admits(cur, rule.limit, cost)
    return slidingWindow.admits(cells[at + 1] ?? 0, cur, elapsed, rule.windowMs, rule.limit, cost)
  }

  add(_slot: number, _rule: CountedRule, cost: number): void {
    const { cells } = this.#block
    const at = this.#at + 2
    cells[at] = Math.min(highestCount, (cells[at] ?? 0) + cost)
  }

  addAt(slot: number, rule: CountedRule, cost: number, then: number, now: number): void {
    const windowsAgo = windowIndex(now, this.#windowMs) - windowIndex(then, this.#windowMs)
    if (windowsAgo <= 0) this.add(slot, rule, cost)
    else if (windowsAgo === 1)
      this.#block.cells[this.#at + 1] = Math.min(highestCount, (this.#block.cells[this.#at + 1] ?? 0) + cost)
  }

  read(_slot: number, rule: CountedRule, into: number[], place: number): void {
    const { cells } = this.#block
    const at = this.#at
    into[place] = rule.algorithm === 'fixed-window' ? 0 : (cells[at + 1] ?? 0)
    into[place + 1] = cells[at + 2] ?? 0
  }

  write(slot: number, rule: CountedRule, a: number, b: number, now: number): void {
    this.#turnTo(now)
    const at = this.#roll(slot)
    if (rule.algorithm !== 'fixed-window') this.#block.cells[at + 1] = Math.min(highestCount, a)
    this.#block.cells[at + 2] = Math.min(highestCount, b)
  }

  raise(slot: number, rule: CountedRule, a: number, b: number, now: number): void {
    this.#turnTo(now)
    const at = this.#roll(slot)
    this.write(
      slot,
      rule,
      Math.max(a, this.#block.cells[at + 1] ?? 0),
      Math.max(b, this.#block.cells[at + 2] ?? 0),
      now,
    )
  }

  hasMore(slot: number, rule: CountedRule, a: number, b: number, took: number, now: number): boolean {
    this.#turnTo(now)
    const at = this.#roll(slot)
    return (
      (this.#block.cells[at + 2] ?? 0) > b - took ||
      (rule.algorithm !== 'fixed-window' && (this.#block.cells[at + 1] ?? 0) > a)
    )
  }

  /** The block of all windows grows by itself. */
  grow(): void {}

  clear(slot: number): void {
    this.#block.cells.fill(0, this.#place(slot), this.#place(slot) + 3)
  }

  isIdle(slot: number, now: number): boolean {
    this.#turnTo(now)
    const at = this.#roll(slot)
    return this.#block.cells[at + 1] === 0 && this.#block.cells[at + 2] === 0
  }

  isBlocking(slot: number, now: number): boolean {
    const elapsed = this.#turnTo(now)
    const at = this.#roll(slot)
    const [prev = 0, cur = 0] = [this.#block.cells[at + 1], this.#block.cells[at + 2]]
    return !slidingWindow.admits(prev, cur, elapsed, this.#windowMs, this.#smallestLimit, 1)
  }

  #place(slot: number): number {
    return slot * this.#block.stride + this.#offset
  }

  /** Turns to the window of `now` and answers the milliseconds elapsed in it. */
  #turnTo(now: number): number {
    const elapsed = now - this.#startMs
    if (elapsed >= 0 && elapsed < this.#windowMs) return elapsed
    const index = windowIndex(now, this.#windowMs)
    this.#index = index | 0
    this.#startMs = index * this.#windowMs
    return now - this.#startMs
  }

  /** Moves a slot's counts to the window turned to, and answers where they are. A clock that went back moves nothing. */
  #roll(slot: number): number {
    const { cells } = this.#block
    const at = this.#place(slot)
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
