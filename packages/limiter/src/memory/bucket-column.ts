import * as tokenBucket from '../algorithms/token-bucket.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterColumn } from './column.ts'

/** Token buckets, two floats a slot: tokens, and the time they were refilled at plus one; 0 means never touched, full. */
export class BucketColumn implements CounterColumn {
  #cells = new Float64Array(0)
  /** Tokens and time of the slot of the last `fits`. */
  #tokens = 0
  #time = 0
  /** The smallest bucket counted here: once that is full again, a slot no longer matters. */
  #smallest: CountedRule

  constructor(rule: CountedRule) {
    this.#smallest = rule
  }

  registerRule(rule: CountedRule): void {
    if (rule.limit < this.#smallest.limit) this.#smallest = rule
  }

  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean {
    this.#tokens = this.#refilled(slot, rule, now)
    this.#time = Math.max(now, (this.#cells[slot * 2 + 1] ?? 0) - 1)
    return tokenBucket.admits(this.#tokens, cost)
  }

  /** Only what is taken is written, so that looking changes nothing. */
  add(slot: number, rule: CountedRule, cost: number): void {
    if (cost === 0) return
    this.#tokens = Math.min(rule.limit, this.#tokens - cost)
    this.write(slot, rule, this.#tokens, this.#time)
  }

  /** What was taken then is missing now. */
  addAt(slot: number, rule: CountedRule, cost: number): void {
    this.add(slot, rule, cost)
  }

  read(_slot: number, _rule: CountedRule, into: number[], place: number): void {
    into[place] = this.#tokens
    into[place + 1] = this.#time
  }

  write(slot: number, _rule: CountedRule, a: number, b: number): void {
    this.#cells[slot * 2] = a
    this.#cells[slot * 2 + 1] = b + 1
  }

  raise(slot: number, rule: CountedRule, a: number, b: number, now: number): void {
    const most = tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs)
    if (most < this.#refilled(slot, rule, now)) this.write(slot, rule, most, now)
  }

  /** Gateways' clocks differ by a trifle: less than a whole token means nothing. */
  hasMore(slot: number, rule: CountedRule, a: number, b: number, took: number, now: number): boolean {
    const theirs = tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs) + took
    return theirs - this.#refilled(slot, rule, now) >= 1
  }

  grow(capacity: number): void {
    const cells = new Float64Array(capacity * 2)
    cells.set(this.#cells)
    this.#cells = cells
  }

  clear(slot: number): void {
    this.#cells.fill(0, slot * 2, slot * 2 + 2)
  }

  isIdle(slot: number, now: number): boolean {
    return this.#refilled(slot, this.#smallest, now) >= this.#smallest.limit
  }

  isBlocking(slot: number, now: number): boolean {
    return this.#refilled(slot, this.#smallest, now) < 1
  }

  #refilled(slot: number, rule: CountedRule, now: number): number {
    const stamp = this.#cells[slot * 2 + 1] ?? 0
    if (stamp === 0) return rule.limit
    return tokenBucket.refill(this.#cells[slot * 2] ?? 0, stamp - 1, now, rule.limit, rule.refillPerMs)
  }
}
