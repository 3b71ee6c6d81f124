/*
 * The sliding window counter. With W the window's length, e the time elapsed in it, prev and cur the counts of the
 * previous and the current window, a request of cost c is rejected when
 *
 *   prev × (1 − e/W) + cur + (c − 1) ≥ limit
 *
 * Both sides are multiplied by W, so that integers stay integers and every store rounds alike. Parameters: `count` is
 * cur + c, `leftMs` is W − e. `redis/scripts/acquire.lua` does the same as `admits`.
 */

/** What a window counter has to know of its rule. */
export interface WindowLimit {
  readonly limit: number
  readonly windowMs: number
}

/** Whether a request fits. */
export function admits(rule: WindowLimit, prev: number, count: number, leftMs: number): boolean {
  return prev * leftMs + (count - 1) * rule.windowMs < rule.limit * rule.windowMs
}

/** Requests of cost 1 that still fit at this moment, never below zero. A fraction of headroom still admits one. */
export function remaining(rule: WindowLimit, prev: number, cur: number, leftMs: number): number {
  const { limit, windowMs } = rule
  return Math.max(0, Math.ceil((limit * windowMs - prev * leftMs - cur * windowMs) / windowMs))
}

/**
 * Milliseconds until a lone request is admitted in the current window, 0 when it fits now; undefined when it has to wait
 * for the next window. The cost in `count` is at most the limit.
 */
export function waitMs(rule: WindowLimit, prev: number, count: number, elapsedMs: number): number | undefined {
  if (admits(rule, prev, count, rule.windowMs - elapsedMs)) return 0
  return count <= rule.limit ? findFadeMs(rule, prev, count, elapsedMs) - elapsedMs : undefined
}

/** Milliseconds from the start of the next window until a lone request of `cost` is admitted there. */
export function waitInNextWindowMs(rule: WindowLimit, cur: number, cost: number): number {
  return findFadeMs(rule, cur, cost, 0)
}

/**
 * The first moment from `fromMs` on, in milliseconds from the start of the window, at which enough of `prev` has faded.
 * A moment too early would break the promise of Retry-After, so the closed form is corrected by `admits`.
 */
function findFadeMs(rule: WindowLimit, prev: number, count: number, fromMs: number): number {
  const { limit, windowMs } = rule
  const room = limit - count + 1
  let at = Math.max(fromMs, Math.floor(windowMs - (room * windowMs) / prev))
  while (at > fromMs && admits(rule, prev, count, windowMs - (at - 1))) at--
  while (at < windowMs && !admits(rule, prev, count, windowMs - at)) at++
  return at
}
