/** The source of the time. Pass one to tests; the default is the system clock. */
export interface Clock {
  /** The current time in Unix milliseconds. */
  now(): number
}

/** The clock of the system. */
export const systemClock: Clock = { now: () => Date.now() }
