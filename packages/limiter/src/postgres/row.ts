import * as tokenBucket from '../algorithms/token-bucket.ts'
import { windowIndex } from '../algorithms/window.ts'
import type { CountedRule } from '../rule.ts'

/** What the table keeps of one rule and identifier; `at` is null for one that was never counted. */
export interface Row {
  readonly key: string
  previous: number
  current: number
  at: number | null
  /** Until when it has to be kept, in Unix milliseconds; 0 while nothing was written. */
  keptUntil: number
}

/** The rule's two counters at a moment; the row is brought there. */
export function countersOf(rule: CountedRule, row: Row, now: number): [a: number, b: number] {
  if (rule.algorithm === 'token-bucket') {
    if (row.at === null) return [rule.limit, now]
    return [tokenBucket.refill(row.current, row.at, now, rule.limit, rule.refillPerMs), Math.max(row.at, now)]
  }
  advanceWindow(row, windowIndex(now, rule.windowMs))
  return [rule.algorithm === 'fixed-window' ? 0 : row.previous, row.current]
}

/** Counts `amount`, which may be below zero, in the window of `then`; for a bucket it is missing now. */
export function count(rule: CountedRule, row: Row, amount: number, now: number, then: number = now): void {
  const [a, b] = countersOf(rule, row, now)
  if (rule.algorithm === 'token-bucket') {
    row.current = Math.min(rule.limit, a - amount)
    row.at = b
  } else {
    const windowsAgo = windowIndex(now, rule.windowMs) - windowIndex(then, rule.windowMs)
    if (windowsAgo <= 0) row.current += amount
    else if (windowsAgo === 1) row.previous += amount
  }
  row.keptUntil = now + rule.expiryMs
}

/** Raises windows to at least these counts, leaves a bucket no fuller than they say. */
export function raise(rule: CountedRule, row: Row, [a, b]: readonly [number, number], now: number): void {
  const [ownA, ownB] = countersOf(rule, row, now)
  if (rule.algorithm === 'token-bucket') {
    const most = tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs)
    if (most < ownA) count(rule, row, ownA - most, now)
    return
  }
  row.previous = Math.max(row.previous, a)
  row.current = Math.max(ownB, b)
  row.keptUntil = now + rule.expiryMs
}

/** Forgets everything. */
export function clear(row: Row, now: number): void {
  row.previous = 0
  row.current = 0
  row.at = null
  row.keptUntil = now
}

/** A clock that went back stays in the window it had reached. */
function advanceWindow(row: Row, index: number): void {
  if (row.at !== null && row.at >= index) return
  row.previous = row.at === index - 1 ? row.current : 0
  row.current = 0
  row.at = index
}
