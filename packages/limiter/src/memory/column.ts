import type { CountedRule } from '../rule.ts'

/** Something kept for every slot of a table, in one typed array. */
export interface Column {
  /** Makes room for `capacity` slots. */
  grow(capacity: number): void
  /** Forgets what a slot holds. */
  clear(slot: number): void
  /** True when what a slot holds no longer matters. */
  isIdle(slot: number, now: number): boolean
  /** True when forgetting a slot would forget a block. */
  isBlocking(slot: number, now: number): boolean
}

/** The counters of one family: two numbers a slot, as `Taken` tells them. */
export interface CounterColumn extends Column {
  /** Hears of a rule that is counted here. */
  registerRule(rule: CountedRule): void
  /** Brings a slot to `now` and tells whether `cost` fits. */
  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean
  /** Counts `cost` in a slot that `fits` has brought to now; below zero gives back. */
  add(slot: number, rule: CountedRule, cost: number): void
  /** Counts `cost` as of a moment in the past, in a slot that `fits` has brought to now. */
  addAt(slot: number, rule: CountedRule, cost: number, then: number, now: number): void
  /** Puts a slot's two numbers, as of the last `fits`, at a place of `into` and the next. */
  read(slot: number, rule: CountedRule, into: number[], place: number): void
  /** Replaces a slot's two numbers. */
  write(slot: number, rule: CountedRule, a: number, b: number, now: number): void
  /** Raises a window's counts to at least these; leaves a bucket no fuller than this one. */
  raise(slot: number, rule: CountedRule, a: number, b: number, now: number): void
  /** Whether more was used up here than these two numbers say, of which `took` was taken just now. */
  hasMore(slot: number, rule: CountedRule, a: number, b: number, took: number, now: number): boolean
}
