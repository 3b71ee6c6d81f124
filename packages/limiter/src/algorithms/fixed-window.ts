/*
 * The fixed window counter: the counter is incremented first, and the request is rejected when the new value exceeds
 * the limit. A rejected request is therefore counted too, and the counter may pass the limit. ../redis/scripts/acquire.lua is its twin.
 */

/** Whether the counter, incremented by `cost`, stays within the limit. */
export function admits(cur: number, limit: number, cost: number): boolean {
  return cur + cost <= limit
}

/** Requests of cost 1 left in this window, never below zero. */
export function remaining(cur: number, limit: number): number {
  return Math.max(0, limit - cur)
}

/** Milliseconds until a lone request of `cost` is admitted: the rest of the window, 0 when it fits now. */
export function waitMs(cur: number, elapsedMs: number, windowMs: number, limit: number, cost: number): number {
  return admits(cur, limit, cost) ? 0 : windowMs - elapsedMs
}
