import * as fixedWindow from '../algorithms/fixed-window.ts'
import * as slidingWindow from '../algorithms/sliding-window.ts'
import { windowIndex } from '../algorithms/window.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterColumn } from './column.ts'
import type { WindowCells } from './window-cells.ts'

const maxCount = 2 ** 31 - 1

/** Counts of windows of one length: for each slot the window's index, the previous and the current count. */
export class WindowColumn implements CounterColumn {
  readonly #windowMs: number
  readonly #block: WindowCells
  readonly #offset: number
  /** The window of the last time seen: the low 32 bits of its index, and its start. */
  #index = 0
  #startMs = Number.NaN
  /** Where the slot moved to begins in the cells. */
  #at = 0
  /** The smallest limit counted here: an identifier that reaches it is blocked. */
  #strictest: slidingWindow.WindowLimit

  constructor(windowMs: number, block: WindowCells) {
    this.#windowMs = windowMs
    this.#block = block
    this.#offset = block.addWindow()
    this.#strictest = { limit: Number.POSITIVE_INFINITY, windowMs }
  }

  registerRule({ limit, windowMs }: CountedRule): void {
    if (limit < this.#strictest.limit) this.#strictest = { limit, windowMs }
  }

  seek(slot: number, _rule: CountedRule, now: number): void {
    this.#advanceTo(now)
    this.#at = this.#advanceSlot(slot)
  }

  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean {
    const elapsed = this.#advanceTo(now)
    const at = this.#advanceSlot(slot)
    this.#at = at
    const { cells } = this.#block
    const count = (cells[at + 2] ?? 0) + cost
    if (rule.algorithm === 'fixed-window') return fixedWindow.admits(rule, count)
    return slidingWindow.admits(rule, cells[at + 1] ?? 0, count, rule.windowMs - elapsed)
  }

  add(_rule: CountedRule, amount: number): void {
    this.#addTo(this.#at + 2, amount)
  }

  addAt(rule: CountedRule, amount: number, countedAt: number, now: number): void {
    const windowsAgo = windowIndex(now, this.#windowMs) - windowIndex(countedAt, this.#windowMs)
    if (windowsAgo <= 0) this.add(rule, amount)
    else if (windowsAgo === 1) this.#addTo(this.#at + 1, amount)
  }

  read(rule: CountedRule, into: number[], place: number): void {
    const { cells } = this.#block
    const at = this.#at
    into[place] = rule.algorithm === 'fixed-window' ? 0 : (cells[at + 1] ?? 0)
    into[place + 1] = cells[at + 2] ?? 0
  }

  write(rule: CountedRule, a: number, b: number): void {
    const { cells } = this.#block
    const at = this.#at
    if (rule.algorithm !== 'fixed-window') cells[at + 1] = Math.min(maxCount, a)
    cells[at + 2] = Math.min(maxCount, b)
  }

  raise(rule: CountedRule, a: number, b: number): void {
    const { cells } = this.#block
    const at = this.#at
    this.write(rule, Math.max(a, cells[at + 1] ?? 0), Math.max(b, cells[at + 2] ?? 0))
  }

  hasMore(rule: CountedRule, a: number, b: number, acquired: number): boolean {
    const { cells } = this.#block
    const at = this.#at
    return (cells[at + 2] ?? 0) > b - acquired || (rule.algorithm !== 'fixed-window' && (cells[at + 1] ?? 0) > a)
  }

  /** The cells of all windows grow together, by `WindowCells`. */
  grow(): void {}

  clear(slot: number): void {
    const at = this.#placeOf(slot)
    this.#block.cells.fill(0, at, at + 3)
  }

  isIdle(slot: number, now: number): boolean {
    this.#advanceTo(now)
    const at = this.#advanceSlot(slot)
    return this.#block.cells[at + 1] === 0 && this.#block.cells[at + 2] === 0
  }

  isBlocking(slot: number, now: number): boolean {
    const leftMs = this.#windowMs - this.#advanceTo(now)
    const at = this.#advanceSlot(slot)
    const [prev = 0, cur = 0] = [this.#block.cells[at + 1], this.#block.cells[at + 2]]
    return !slidingWindow.admits(this.#strictest, prev, cur + 1, leftMs)
  }

  #addTo(at: number, amount: number): void {
    const { cells } = this.#block
    cells[at] = Math.min(maxCount, (cells[at] ?? 0) + amount)
  }

  #placeOf(slot: number): number {
    return slot * this.#block.stride + this.#offset
  }

  /** Moves to the window of `now`, and returns the milliseconds elapsed in it. */
  #advanceTo(now: number): number {
    const elapsed = now - this.#startMs
    if (elapsed >= 0 && elapsed < this.#windowMs) return elapsed
    const index = windowIndex(now, this.#windowMs)
    this.#index = index | 0
    this.#startMs = index * this.#windowMs
    return now - this.#startMs
  }

  /**
   * Moves a slot's counts to that window, and returns their place. After the clock moved back they stay in the next
   * window; from a later one they are moved, so that they fade from now on.
   */
  #advanceSlot(slot: number): number {
    const { cells } = this.#block
    const at = this.#placeOf(slot)
    const behind = (this.#index - (cells[at] ?? 0)) | 0
    if (behind === 0) return at
    if (behind === 1) cells[at + 1] = cells[at + 2] ?? 0
    else if (behind > 1) cells[at + 1] = 0
    else if (cells[at + 1] !== 0 || cells[at + 2] !== 0) {
      if (behind < -1) cells[at] = this.#index
      return at
    }
    cells[at] = this.#index
    cells[at + 2] = 0
    return at
  }
}
