/** The time as Unix milliseconds. It is passed in, so that tests move time instead of waiting. */
export interface Clock {
  /** The current time in Unix milliseconds. */
  now(): number
}
