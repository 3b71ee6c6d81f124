/*
 * Windows lie side by side from the Unix epoch on. Times are whole milliseconds; dividing is exact for all of them and
 * several times faster than the remainder operator, which is a function call for numbers beyond 32 bits.
 */

/** Number of the window that `now` lies in. */
export function windowIndex(now: number, windowMs: number): number {
  return Math.floor(now / windowMs)
}

/** Milliseconds since that window began. */
export function elapsedMs(now: number, windowMs: number): number {
  return now - Math.floor(now / windowMs) * windowMs
}
