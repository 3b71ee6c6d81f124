import * as tokenBucket from '../algorithms/token-bucket.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterColumn } from './column.ts'

/** Token buckets, two floats for each slot: tokens, and the time of their refill plus one; 0 means unused and full. */
export class BucketColumn implements CounterColumn {
  #cells = new Float64Array(0)
  /** The slot moved to, the time, and the slot's tokens and their time. */
  #slot = 0
  #now = 0
  #tokens = 0
  #time = 0
  /** Of the buckets counted here the largest capacity, the longest time to fill, and the slowest refill. */
  #maxLimit = 0
  #maxFillMs = 0
  #minRefillPerMs = Number.POSITIVE_INFINITY

  registerRule({ limit, windowMs, refillPerMs }: CountedRule): void {
    this.#maxLimit = Math.max(limit, this.#maxLimit)
    this.#maxFillMs = Math.max(windowMs, this.#maxFillMs)
    this.#minRefillPerMs = Math.min(refillPerMs, this.#minRefillPerMs)
  }

  seek(slot: number, rule: CountedRule, now: number): void {
    this.#slot = slot
    this.#now = now
    this.#tokens = this.#refill(slot, rule, now)
    this.#time = Math.max(now, (this.#cells[slot * 2 + 1] ?? 0) - 1)
  }

  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean {
    this.seek(slot, rule, now)
    return tokenBucket.admits(this.#tokens, cost)
  }

  /** Writes only when the tokens change, so that a check that rejects writes nothing. */
  add(rule: CountedRule, amount: number): void {
    if (amount === 0) return
    this.#tokens = Math.min(rule.limit, this.#tokens - amount)
    this.write(rule, this.#tokens, this.#time)
  }

  /** Tokens that were taken earlier are missing now. */
  addAt(rule: CountedRule, amount: number): void {
    this.add(rule, amount)
  }

  read(_rule: CountedRule, into: number[], place: number): void {
    into[place] = this.#tokens
    into[place + 1] = this.#time
  }

  write(_rule: CountedRule, a: number, b: number): void {
    this.#cells[this.#slot * 2] = a
    this.#cells[this.#slot * 2 + 1] = b + 1
  }

  raise(rule: CountedRule, a: number, b: number): void {
    const max = tokenBucket.refill(rule, a, b, this.#now)
    if (max < this.#tokens) this.write(rule, max, this.#now)
  }

  /** The clocks of processes differ a little, so a difference below one token is ignored. */
  hasMore(rule: CountedRule, a: number, b: number, acquired: number): boolean {
    return tokenBucket.refill(rule, a, b, this.#now) + acquired - this.#tokens >= 1
  }

  grow(capacity: number): void {
    const cells = new Float64Array(capacity * 2)
    cells.set(this.#cells)
    this.#cells = cells
  }

  clear(slot: number): void {
    this.#cells.fill(0, slot * 2, slot * 2 + 2)
  }

  /**
   * True once the bucket is full by every rule: a bucket of the largest capacity that takes longest to fill is full no
   * earlier than any other with these tokens, of which a smaller part is missing. Not so below zero.
   */
  isIdle(slot: number, now: number): boolean {
    const isOverdrawn = (this.#cells[slot * 2] ?? 0) < 0
    const refillPerMs = isOverdrawn ? this.#minRefillPerMs : this.#maxLimit / this.#maxFillMs
    return this.#refill(slot, { limit: this.#maxLimit, refillPerMs }, now) >= this.#maxLimit
  }

  isBlocking(slot: number, now: number): boolean {
    return this.#refill(slot, { limit: this.#maxLimit, refillPerMs: this.#minRefillPerMs }, now) < 1
  }

  /** A bucket whose time is too far ahead was counted before the clock moved back. It refills from now on. */
  #refill(slot: number, rule: tokenBucket.BucketLimit, now: number): number {
    const stamp = this.#cells[slot * 2 + 1] ?? 0
    if (stamp === 0) return rule.limit
    if (stamp - 1 - now > tokenBucket.maxAheadMs(this.#maxFillMs)) this.#cells[slot * 2 + 1] = now + 1
    return tokenBucket.refill(rule, this.#cells[slot * 2] ?? 0, stamp - 1, now)
  }
}
