import type { CountedRule } from '../rule.ts'
import * as fixedWindow from './fixed-window.ts'
import * as slidingWindow from './sliding-window.ts'
import * as tokenBucket from './token-bucket.ts'
import { elapsedMs } from './window.ts'

/**
 * The counters of several rules at one time, two numbers for each: `counters[2 * i]` and `counters[2 * i + 1]` belong to
 * rule i. For a window they are the counts of the previous and of the current window; for a bucket its tokens and the
 * time (Unix milliseconds) at which they were refilled.
 */
export interface Counters {
  readonly counters: readonly number[]
  /** Unix milliseconds. */
  readonly now: number
}

/** Whether a request of `cost` is within rule i. */
export function admits(rule: CountedRule, { counters, now }: Counters, i: number, cost: number): boolean {
  const a = counters[2 * i] ?? 0
  const b = counters[2 * i + 1] ?? 0
  if (rule.algorithm === 'token-bucket') return tokenBucket.admits(tokenBucket.refill(rule, a, b, now), cost)
  return windowAdmits(rule, a, b + cost, now)
}

/** As `admits`, of a window whose current count is `count` with the request's cost added. */
export function windowAdmits(rule: CountedRule, prev: number, count: number, now: number): boolean {
  // With an empty previous window a sliding window is a fixed one.
  if (rule.algorithm === 'fixed-window' || prev === 0) return fixedWindow.admits(rule, count)
  return slidingWindow.admits(rule, prev, count, rule.windowMs - elapsedMs(now, rule.windowMs))
}

/** Requests of cost 1 that still fit rule i; more than the limit where an operator has granted more. */
export function remaining(rule: CountedRule, { counters, now }: Counters, i: number): number {
  const a = counters[2 * i] ?? 0
  const b = counters[2 * i + 1] ?? 0
  if (rule.algorithm === 'token-bucket') return tokenBucket.remaining(tokenBucket.refill(rule, a, b, now))
  return windowRemaining(rule, a, b, now)
}

/** As `remaining`, of a window. */
export function windowRemaining(rule: CountedRule, prev: number, cur: number, now: number): number {
  if (rule.algorithm === 'fixed-window' || prev === 0) return fixedWindow.remaining(rule, cur)
  return slidingWindow.remaining(rule, prev, cur, rule.windowMs - elapsedMs(now, rule.windowMs))
}

/** Milliseconds until a lone request of `cost` is admitted by rule i; 0 when it fits now. */
export function waitMs(rule: CountedRule, { counters, now }: Counters, i: number, cost: number): number {
  const a = counters[2 * i] ?? 0
  const b = counters[2 * i + 1] ?? 0
  if (rule.algorithm === 'token-bucket') return tokenBucket.waitMs(rule, tokenBucket.refill(rule, a, b, now), cost)
  const elapsed = elapsedMs(now, rule.windowMs)
  const leftMs = rule.windowMs - elapsed
  if (rule.algorithm === 'fixed-window') return fixedWindow.waitMs(rule, b + cost, leftMs)
  return slidingWindow.waitMs(rule, a, b + cost, elapsed) ?? leftMs + slidingWindow.waitInNextWindowMs(rule, b, cost)
}

/** When the next window of rule i begins, or its bucket is full, in Unix milliseconds. */
export function resetAt(rule: CountedRule, { counters, now }: Counters, i: number): number {
  if (rule.algorithm !== 'token-bucket') return now - elapsedMs(now, rule.windowMs) + rule.windowMs
  const tokens = tokenBucket.refill(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, now)
  return now + tokenBucket.fullMs(rule, tokens)
}

/** Milliseconds until a lone request of `cost` is admitted by all rules that are not in shadow. */
export function maxWaitMs(rules: readonly CountedRule[], counters: Counters, cost: number): number {
  return Math.max(...rules.map((rule, i) => (rule.shadow ? 0 : waitMs(rule, counters, i, cost))))
}

/** The rules that a request of `cost` violates: bit i is set for rule i, shadow rules included. */
export function findViolations(rules: readonly CountedRule[], counters: Counters, cost: number): number {
  return rules.reduce((bits, rule, i) => (admits(rule, counters, i, cost) ? bits : bits | (1 << i)), 0)
}

/** Whether a request that violates these rules is allowed all the same: shadow rules reject nothing. */
export function isAllowed(rules: readonly CountedRule[], violated: number): boolean {
  return violated === 0 || rules.every((rule, i) => rule.shadow || (violated & (1 << i)) === 0)
}
