import * as tokenBucket from '../algorithms/token-bucket.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterColumn } from './column.ts'

/** Token buckets, two floats a slot: tokens, and the time they were refilled at plus one; 0 means never touched, full. */
export class BucketColumn implements CounterColumn {
  #cells = new Float64Array(0)
  /** The smallest bucket counted here: once that is full again, a slot no longer matters. */
  #smallest: CountedRule

  constructor(rule: CountedRule) {
    this.#smallest = rule
  }

  serve(rule: CountedRule): void {
    if (rule.limit < this.#smallest.limit) this.#smallest = rule
  }

  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean {
    const at = slot * 2
    const tokens = this.#tokens(slot, rule, now)
    this.#cells[at] = tokens
    this.#cells[at + 1] = Math.max(now + 1, this.#cells[at + 1] ?? 0)
    return tokenBucket.admits(tokens, cost)
  }

  take(slot: number, rule: CountedRule, cost: number): void {
    this.#cells[slot * 2] = Math.min(rule.limit, (this.#cells[slot * 2] ?? 0) - cost)
  }

  read(slot: number, _rule: CountedRule, into: number[], place: number): void {
    into[place] = this.#cells[slot * 2] ?? 0
    into[place + 1] = (this.#cells[slot * 2 + 1] ?? 1) - 1
  }

  write(slot: number, _rule: CountedRule, a: number, b: number): void {
    this.#cells[slot * 2] = a
    this.#cells[slot * 2 + 1] = b + 1
  }

  raise(): void {}

  holdsMore(): boolean {
    return false
  }

  grow(capacity: number): void {
    const cells = new Float64Array(capacity * 2)
    cells.set(this.#cells)
    this.#cells = cells
  }

  clear(slot: number): void {
    this.#cells.fill(0, slot * 2, slot * 2 + 2)
  }

  idle(slot: number, now: number): boolean {
    return this.#tokens(slot, this.#smallest, now) >= this.#smallest.limit
  }

  blocks(slot: number, now: number): boolean {
    return this.#tokens(slot, this.#smallest, now) < 1
  }

  #tokens(slot: number, rule: CountedRule, now: number): number {
    const stamp = this.#cells[slot * 2 + 1] ?? 0
    if (stamp === 0) return rule.limit
    return tokenBucket.refill(this.#cells[slot * 2] ?? 0, stamp - 1, now, rule.limit, rule.refillPerMs)
  }
}
