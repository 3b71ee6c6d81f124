import * as tokenBucket from '../algorithms/token-bucket.ts'
import { windowIndex } from '../algorithms/window.ts'
import type { CountedRule } from '../rule.ts'

/** What the table stores of one rule and identifier; `at` is null for one that was never counted. */
export interface Row {
  readonly key: string
  previous: number
  current: number
  at: number | null
  /** Until when to keep it, in Unix milliseconds; 0 while nothing was written. */
  keptUntil: number
}

/** The two counters of a rule at a time, to which the row is advanced. */
export function countersOf(rule: CountedRule, row: Row, now: number): [a: number, b: number] {
  leaveFuture(rule, row, now)
  if (rule.algorithm === 'token-bucket') {
    if (row.at === null) return [rule.limit, now]
    return [tokenBucket.refill(rule, row.current, row.at, now), Math.max(row.at, now)]
  }
  advanceWindow(row, windowIndex(now, rule.windowMs))
  return [rule.algorithm === 'fixed-window' ? 0 : row.previous, row.current]
}

/** Adds `amount`, which may be below zero, to the current window; takes it from a bucket. */
export function addAmount(rule: CountedRule, row: Row, amount: number, now: number): void {
  const [a, b] = countersOf(rule, row, now)
  if (rule.algorithm === 'token-bucket') {
    row.current = Math.min(rule.limit, a - amount)
    row.at = b
  } else {
    row.current += amount
  }
  row.keptUntil = now + rule.expiryMs
}

/** Adds `amount` to the previous window. */
export function addToPrevious(rule: CountedRule, row: Row, amount: number, now: number): void {
  countersOf(rule, row, now)
  row.previous += amount
  row.keptUntil = now + rule.expiryMs
}

/** Raises windows to at least these counts, lowers a bucket to at most its tokens. */
export function raiseRow(rule: CountedRule, row: Row, [a, b]: readonly [number, number], now: number): void {
  const [ownA, ownB] = countersOf(rule, row, now)
  if (rule.algorithm === 'token-bucket') {
    const max = tokenBucket.refill(rule, a, b, now)
    if (max < ownA) addAmount(rule, row, ownA - max, now)
    return
  }
  row.previous = Math.max(row.previous, a)
  row.current = Math.max(ownB, b)
  row.keptUntil = now + rule.expiryMs
}

/** Deletes the counters. */
export function clearRow(row: Row, now: number): void {
  row.previous = 0
  row.current = 0
  row.at = null
  row.keptUntil = now
}

/**
 * Brings back a row that is more than a window ahead, or too far for a bucket. It was counted before the clock moved
 * back, and fades from now on. It is written even if the check is rejected, or each check would keep it from fading.
 */
function leaveFuture(rule: CountedRule, row: Row, now: number): void {
  if (row.at === null) return
  const isBucket = rule.algorithm === 'token-bucket'
  const present = isBucket ? now : windowIndex(now, rule.windowMs)
  if (row.at - present <= (isBucket ? tokenBucket.maxAheadMs(rule.windowMs) : 1)) return
  row.at = present
  row.keptUntil = now + rule.expiryMs
}

/** A clock that moved back stays in the next window. */
function advanceWindow(row: Row, index: number): void {
  if (row.at !== null && row.at >= index) return
  row.previous = row.at === index - 1 ? row.current : 0
  row.current = 0
  row.at = index
}
