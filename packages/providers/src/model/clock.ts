/** The time as Unix milliseconds. Passed in, so that tests move time instead of waiting. */
export interface Clock {
  now(): number
}
