import type { CountedRule } from '../rule.ts'

/** Values for every slot of a table, in one typed array. */
export interface Column {
  /** Makes room for `capacity` slots. */
  grow(capacity: number): void
  /** Deletes the values of a slot. */
  clear(slot: number): void
  /** True when the values of a slot no longer affect any decision. */
  isIdle(slot: number, now: number): boolean
  /** True when deleting a slot would admit an identifier that is over its limit. */
  isBlocking(slot: number, now: number): boolean
}

/**
 * The counters of one family of rules, two numbers for each slot, as in `CounterResult`. `seek` and `fits` move to a slot
 * and bring its counters to `now`; the methods after them work on that slot, so that they need not find it again.
 */
export interface CounterColumn extends Column {
  /** Registers a rule that is counted here. */
  registerRule(rule: CountedRule): void
  /** Moves to a slot. */
  seek(slot: number, rule: CountedRule, now: number): void
  /** Moves to a slot; whether `cost` fits there. */
  fits(slot: number, rule: CountedRule, cost: number, now: number): boolean
  /** Adds `amount` to the current count; below zero returns units. */
  add(rule: CountedRule, amount: number): void
  /** Adds `amount` to the window of an earlier time. */
  addAt(rule: CountedRule, amount: number, countedAt: number, now: number): void
  /** Copies the two numbers to `into[place]` and the next. */
  read(rule: CountedRule, into: number[], place: number): void
  /** Replaces the two numbers. */
  write(rule: CountedRule, a: number, b: number): void
  /** Raises the counts of a window to at least these; lowers a bucket to at most this one. */
  raise(rule: CountedRule, a: number, b: number): void
  /** Whether more was used here than these two numbers say, after `acquired` was added to them. */
  hasMore(rule: CountedRule, a: number, b: number, acquired: number): boolean
}
