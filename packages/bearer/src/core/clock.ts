/** The source of the time. Pass one to tests; the default is the system clock. */
export interface Clock {
  /** The current time in Unix milliseconds. */
  now(): number
}

/** The clock of the system. */
export const systemClock: Clock = { now: () => Date.now() }

/**
 * Whether a deadline, set at most `maxMs` ahead, is still to come. One that is further ahead dates from before the clock
 * was set back: how much of it is left is not known, so it counts as over.
 */
export function isAhead(deadline: number, maxMs: number, now: number): boolean {
  return now < deadline && deadline - now <= maxMs
}
