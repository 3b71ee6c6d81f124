import type { WindowLimit } from './sliding-window.ts'

/*
 * The fixed window counter. The counter is incremented first, and the request is rejected when the new value exceeds the
 * limit. A rejected request is therefore counted too, and the counter may pass the limit. Parameter `count` is the
 * counter with the cost of the request added. `redis/scripts/acquire.lua` does the same as `admits`.
 */

/** Whether the incremented counter is within the limit. */
export function admits(rule: WindowLimit, count: number): boolean {
  return count <= rule.limit
}

/** Requests of cost 1 left in this window, never below zero. */
export function remaining(rule: WindowLimit, cur: number): number {
  return Math.max(0, rule.limit - cur)
}

/** Milliseconds until a lone request is admitted: the rest of the window, 0 when it fits now. */
export function waitMs(rule: WindowLimit, count: number, leftMs: number): number {
  return admits(rule, count) ? 0 : leftMs
}
