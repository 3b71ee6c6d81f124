import type { CountedRule } from '../rule.ts'
import * as fixedWindow from './fixed-window.ts'
import * as slidingWindow from './sliding-window.ts'
import * as tokenBucket from './token-bucket.ts'
import { elapsedMs } from './window.ts'

/*
 * What a rule's two counters mean at a moment. For windows `a` and `b` are the counts of the previous and the current
 * window; for a bucket its tokens and the time (Unix milliseconds) they were refilled at.
 */

/** Whether a request of `cost` is within the rule. */
export function admits(rule: CountedRule, a: number, b: number, cost: number, now: number): boolean {
  if (rule.algorithm === 'sliding-window')
    return slidingWindow.admits(a, b, elapsedMs(now, rule.windowMs), rule.windowMs, rule.limit, cost)
  if (rule.algorithm === 'fixed-window') return fixedWindow.admits(b, rule.limit, cost)
  return tokenBucket.admits(tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs), cost)
}

/** Requests of cost 1 that still fit; more than the limit where more was granted. */
export function remaining(rule: CountedRule, a: number, b: number, now: number): number {
  if (rule.algorithm === 'sliding-window' && a !== 0)
    return slidingWindow.remaining(a, b, elapsedMs(now, rule.windowMs), rule.windowMs, rule.limit)
  // With nothing before it a sliding window is a fixed one.
  if (rule.algorithm !== 'token-bucket') return fixedWindow.remaining(b, rule.limit)
  return tokenBucket.remaining(tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs))
}

/** Milliseconds until a lone request of `cost` is admitted; 0 when it fits now. */
export function waitMs(rule: CountedRule, a: number, b: number, cost: number, now: number): number {
  if (rule.algorithm === 'sliding-window')
    return slidingWindow.waitMs(a, b, elapsedMs(now, rule.windowMs), rule.windowMs, rule.limit, cost)
  if (rule.algorithm === 'fixed-window')
    return fixedWindow.waitMs(b, elapsedMs(now, rule.windowMs), rule.windowMs, rule.limit, cost)
  const tokens = tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs)
  return tokenBucket.waitMs(tokens, rule.limit, rule.refillPerMs, cost)
}

/** When the next window begins, or the bucket is full, in Unix milliseconds. */
export function resetAt(rule: CountedRule, a: number, b: number, now: number): number {
  if (rule.algorithm !== 'token-bucket') return now - elapsedMs(now, rule.windowMs) + rule.windowMs
  const tokens = tokenBucket.refill(a, b, now, rule.limit, rule.refillPerMs)
  return now + tokenBucket.fullMs(tokens, rule.limit, rule.refillPerMs)
}
