/*
 * The token bucket: tokens = min(capacity, tokens + elapsed × rate). A request of cost c is admitted when the bucket has
 * at least c tokens, which it then takes. `redis/scripts/acquire.lua` does the same as `admits`.
 */

/** What a token bucket has to know of its rule: `limit` is its capacity. */
export interface BucketLimit {
  readonly limit: number
  readonly refillPerMs: number
}

/** Tokens at `now`, refilled since `ts` (both Unix milliseconds). A clock that moved back refills nothing. */
export function refill(rule: BucketLimit, tokens: number, ts: number, now: number): number {
  return Math.min(rule.limit, tokens + Math.max(0, now - ts) * rule.refillPerMs)
}

/** How far clocks may differ, and calls be late, without the clock having moved back. */
const toleratedMs = 10_000

/**
 * How far the time of a bucket that takes `fillMs` to fill may be ahead, in milliseconds. One that is further ahead was
 * written before the clock moved back. `redis/scripts/counters.lua` says the same.
 */
export function maxAheadMs(fillMs: number): number {
  return Math.max(fillMs, toleratedMs)
}

/** Whether a request of `cost` tokens is admitted. */
export function admits(tokens: number, cost: number): boolean {
  return tokens >= cost
}

/** Requests of cost 1 that still fit. */
export function remaining(tokens: number): number {
  return Math.max(0, Math.floor(tokens))
}

/** Milliseconds until the bucket has `cost` tokens, at most its capacity; 0 when it has them now. */
export function waitMs(rule: BucketLimit, tokens: number, cost: number): number {
  if (admits(tokens, cost)) return 0
  let wait = Math.ceil((cost - tokens) / rule.refillPerMs)
  while (!admits(refill(rule, tokens, 0, wait), cost)) wait++
  return wait
}

/** Milliseconds until the bucket is full again. */
export function fullMs(rule: BucketLimit, tokens: number): number {
  return Math.max(0, Math.ceil((rule.limit - tokens) / rule.refillPerMs))
}
