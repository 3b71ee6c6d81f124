/** The time, in Unix milliseconds. Passed in, so that tests move time instead of waiting. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

const callsPerRefresh = 256

/**
 * Creates a clock that reads the system clock about once a millisecond instead of at every check: a read costs as much as
 * a check. A timer refreshes it while it is in use and stops when it is not; an event loop that never yields still sees
 * time pass every few hundred calls.
 *
 * @example
 * const limiter = createLimiter({ clock: coarseClock() })
 */
export function coarseClock(): Clock {
  return { now: readCoarsely(() => Date.now()) }
}

/** Reads a time as `coarseClock` does. */
export function readCoarsely(read: () => number): () => number {
  let time = read()
  let calls = 0
  let isTicking = false

  const tick = (): void => {
    if (calls === 0) {
      isTicking = false
      return
    }
    calls = 0
    time = read()
    setTimeout(tick, 1).unref()
  }

  return () => {
    if (++calls % callsPerRefresh === 0) time = read()
    if (!isTicking) {
      isTicking = true
      time = read()
      setTimeout(tick, 1).unref()
    }
    return time
  }
}
