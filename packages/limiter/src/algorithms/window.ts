/*
 * Windows follow one another from the Unix epoch on. Times are integer milliseconds, for which division is exact, and
 * several times faster than the remainder operator, which is a function call for numbers beyond 32 bits.
 */

/** Index of the window that contains `now`. */
export function windowIndex(now: number, windowMs: number): number {
  return Math.floor(now / windowMs)
}

/** Milliseconds since that window began. */
export function elapsedMs(now: number, windowMs: number): number {
  return now - Math.floor(now / windowMs) * windowMs
}
