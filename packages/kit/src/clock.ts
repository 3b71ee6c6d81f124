/** The time as Unix milliseconds. Injected everywhere, so that tests move time instead of waiting for it. */
export interface Clock {
  now(): number
}

/** The clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() }

/** For how long something took alone: nobody sets it, and it begins with the process. */
export const steadyClock: Clock = { now: () => performance.now() }

/** A clock that moves only when a test moves it. */
export interface ManualClock extends Clock {
  advance(milliseconds: number): void
  set(unixMilliseconds: number): void
}

/**
 * Creates a clock for tests that starts at `start` (Unix milliseconds).
 *
 * @example
 * const clock = manualClock()
 * clock.advance(60_000)
 */
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
