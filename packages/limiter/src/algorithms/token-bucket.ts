/*
 * The token bucket: tokens = min(capacity, tokens + elapsed × rate); a request of cost c is admitted when at least c
 * tokens are there, and takes them. ../redis/scripts/acquire.lua is its twin.
 */

/** Tokens at `now`, refilled since `ts` (both Unix milliseconds). A clock that went back refills nothing. */
export function refill(tokens: number, ts: number, now: number, capacity: number, refillPerMs: number): number {
  return Math.min(capacity, tokens + Math.max(0, now - ts) * refillPerMs)
}

/** Whether a request of `cost` tokens is admitted. */
export function admits(tokens: number, cost: number): boolean {
  return tokens >= cost
}

/** Requests of cost 1 that still fit. */
export function remaining(tokens: number): number {
  return Math.max(0, Math.floor(tokens))
}

/** Milliseconds until `cost` tokens are there, `cost` being at most the capacity; 0 when they are there now. */
export function waitMs(tokens: number, capacity: number, refillPerMs: number, cost: number): number {
  if (admits(tokens, cost)) return 0
  let wait = Math.ceil((cost - tokens) / refillPerMs)
  while (!admits(refill(tokens, 0, wait, capacity, refillPerMs), cost)) wait++
  return wait
}

/** Milliseconds until the bucket is full again. */
export function fullMs(tokens: number, capacity: number, refillPerMs: number): number {
  return Math.max(0, Math.ceil((capacity - tokens) / refillPerMs))
}
