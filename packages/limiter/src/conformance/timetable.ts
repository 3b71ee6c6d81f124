import { definePolicy, type Policy } from '../policy.ts'

/** One check of cost 1: seconds from the start of a window, whether it is admitted, what remains, and why. */
type TimedCheck = readonly [atSeconds: number, admitted: boolean, remaining: number, why: string]

/** The checks of one policy, in the order of time. */
export interface Timetable {
  readonly title: string
  readonly policy: Policy
  readonly checks: readonly TimedCheck[]
}

const limit = 4
const windowMs = 60_000

/** The decisions of each algorithm over time, which every store has to reproduce. */
export const timetables: readonly Timetable[] = [
  {
    title: 'a sliding window of 4 a minute fades out the previous window',
    policy: definePolicy('sliding', [{ name: 'sliding', limit, windowMs }]),
    checks: [
      [0, true, 3, 'the first of an empty window'],
      [10, true, 2, 'nothing fades within a window'],
      [29, true, 1, 'one is left'],
      [30, true, 0, 'the last of the limit'],
      [31, false, 0, 'the limit is reached'],
      [59.999, false, 0, 'until the window ends'],
      [60, false, 0, 'a new window begins with the old one at full weight'],
      [60.001, true, 0, 'the old window has faded a little: its weight is below 4'],
      [75, false, 0, 'three quarters of four, and one'],
      [90, true, 0, 'half of the old window has faded: 2 + 1 are below 4'],
      [119.999, true, 1, 'almost nothing of the old window is left'],
      [120, true, 0, 'three of the previous window at full weight'],
      [121, true, 0, 'a little of the three has faded, and a fraction of headroom admits one'],
      [240, true, 3, 'two windows later nothing is left'],
    ],
  },
  {
    title: 'a fixed window of 4 a minute counts what it rejects and starts at 0',
    policy: definePolicy('fixed', [{ name: 'fixed', algorithm: 'fixed-window', limit, windowMs }]),
    checks: [
      [0, true, 3, 'the first'],
      [58, true, 2, 'the second'],
      [59, true, 1, 'the third'],
      [59.5, true, 0, 'the last of the limit'],
      [59.999, false, 0, 'the counter passes the limit'],
      [60, true, 3, 'a new window starts at 0'],
      [119.999, true, 2, 'until it ends'],
      [600, true, 3, 'long after'],
    ],
  },
  {
    title: 'a token bucket of 4 refills one token in 10 s',
    policy: definePolicy('bucket', [{ name: 'bucket', algorithm: 'token-bucket', limit, refillPerSecond: 0.1 }]),
    checks: [
      [0, true, 3, 'a new bucket is full'],
      [0, true, 2, 'a burst acquires token after token'],
      [0, true, 1, 'a burst acquires token after token'],
      [0, true, 0, 'the last token'],
      [9.999, false, 0, 'less than a token'],
      [10, true, 0, 'one token was refilled'],
      [25, true, 0, 'one and a half were refilled: one is acquired'],
      [30, true, 0, 'the other half and another half'],
      [31, false, 0, 'a tenth of a token'],
      [600, true, 3, 'the bucket is never fuller than its capacity'],
    ],
  },
]
