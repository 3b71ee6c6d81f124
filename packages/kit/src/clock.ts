/** The time as Unix milliseconds. Handed in everywhere, so that tests move time instead of waiting. */
export interface Clock {
  now(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  advance(milliseconds: number): void
  set(unixMilliseconds: number): void
}

/** A clock for tests, at `start` (Unix milliseconds) until moved. */
export function manualClock(start: number = Date.UTC(2026, 0, 1)): ManualClock {
  let current = start
  return {
    now: () => current,
    advance(milliseconds) {
      current += milliseconds
    },
    set(unixMilliseconds) {
      current = unixMilliseconds
    },
  }
}
