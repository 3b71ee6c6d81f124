/*
 * The sliding window counter. With W the window's length, e the time elapsed in it, prev and cur the counts of the
 * previous and the current window, a request of cost c is rejected when
 *
 *   prev × (1 − e/W) + cur + (c − 1) ≥ limit
 *
 * Both sides are multiplied by W, so that whole numbers stay whole and every store rounds alike.
 * ../redis/scripts/acquire.lua is the twin of `admits`.
 */

/** Whether a request of `cost` fits. Times in milliseconds. */
export function admits(
  prev: number,
  cur: number,
  elapsedMs: number,
  windowMs: number,
  limit: number,
  cost: number,
): boolean {
  return prev * (windowMs - elapsedMs) + (cur + cost - 1) * windowMs < limit * windowMs
}

/** Requests of cost 1 that still fit at this moment, never below zero. A fraction of headroom still admits one. */
export function remaining(prev: number, cur: number, elapsedMs: number, windowMs: number, limit: number): number {
  return Math.max(0, Math.ceil((limit * windowMs - prev * (windowMs - elapsedMs) - cur * windowMs) / windowMs))
}

/**
 * Milliseconds until a lone request of `cost` is admitted; 0 when it fits now. `cost` is at most `limit`.
 * Too early would break the promise of Retry-After, so the closed form is checked against `admits` and nudged.
 */
export function waitMs(
  prev: number,
  cur: number,
  elapsedMs: number,
  windowMs: number,
  limit: number,
  cost: number,
): number {
  if (admits(prev, cur, elapsedMs, windowMs, limit, cost)) return 0
  const room = limit - cur - cost + 1
  if (room > 0) return fadeMs(prev, cur, elapsedMs, windowMs, limit, cost) - elapsedMs
  return windowMs - elapsedMs + fadeMs(cur, 0, 0, windowMs, limit, cost)
}

/** The first moment of this window, in milliseconds from its start, at which enough of `prev` has faded. */
function fadeMs(prev: number, cur: number, fromMs: number, windowMs: number, limit: number, cost: number): number {
  const room = limit - cur - cost + 1
  let at = Math.max(fromMs, Math.floor(windowMs - (room * windowMs) / prev))
  while (at > fromMs && admits(prev, cur, at - 1, windowMs, limit, cost)) at--
  while (at < windowMs && !admits(prev, cur, at, windowMs, limit, cost)) at++
  return at
}
