import { definePolicy, type Policy } from '../policy.ts'

/** One moment: seconds from the start of a window, whether a request of cost 1 is admitted, what is left, and why. */
type Moment = readonly [atSeconds: number, admitted: boolean, remaining: number, why: string]

export interface Timetable {
  readonly title: string
  readonly policy: Policy
  readonly moments: readonly Moment[]
}

const limit = 4
const windowMs = 60_000

/** What each algorithm answers at which moment, and why: every store proves its counters by these. */
export const timetables: readonly Timetable[] = [
  {
    title: 'a sliding window of 4 a minute fades the window before it',
    policy: definePolicy('sliding', [{ name: 'sliding', limit, windowMs }]),
    moments: [
      [0, true, 3, 'the first of an empty window'],
      [10, true, 2, 'nothing fades within a window'],
      [29, true, 1, 'one is left'],
      [30, true, 0, 'the last of the limit'],
      [31, false, 0, 'the limit is reached'],
      [59.999, false, 0, 'until the window ends'],
      [60, false, 0, 'a new window begins with the old one at full weight'],
      [60.001, true, 0, 'a hair of the old window has faded: weighted is below 4'],
      [75, false, 0, 'three quarters of four, and one'],
      [90, true, 0, 'half of the old window has faded: 2 + 1 are below 4'],
      [119.999, true, 1, 'of the old window next to nothing is left'],
      [120, true, 0, 'three of the window before at full weight'],
      [121, true, 0, 'a little of the three has faded, and a fraction of headroom admits one'],
      [240, true, 3, 'two windows on nothing is left'],
    ],
  },
  {
    title: 'a fixed window of 4 a minute counts what it rejects and forgets at the border',
    policy: definePolicy('fixed', [{ name: 'fixed', algorithm: 'fixed-window', limit, windowMs }]),
    moments: [
      [0, true, 3, 'the first'],
      [58, true, 2, 'the second'],
      [59, true, 1, 'the third'],
      [59.5, true, 0, 'the last of the limit'],
      [59.999, false, 0, 'the counter passes the limit'],
      [60, true, 3, 'a new window knows nothing of the old one'],
      [119.999, true, 2, 'until it ends'],
      [600, true, 3, 'long after'],
    ],
  },
  {
    title: 'a token bucket of 4 that refills one token in 10 s',
    policy: definePolicy('bucket', [{ name: 'bucket', algorithm: 'token-bucket', limit, refillPerSecond: 0.1 }]),
    moments: [
      [0, true, 3, 'a new bucket is full'],
      [0, true, 2, 'a burst takes token after token'],
      [0, true, 1, 'a burst takes token after token'],
      [0, true, 0, 'the last token'],
      [9.999, false, 0, 'not quite a token yet'],
      [10, true, 0, 'one token has come'],
      [25, true, 0, 'one and a half have come: one is result'],
      [30, true, 0, 'the half and another half'],
      [31, false, 0, 'a tenth of a token'],
      [600, true, 3, 'it never holds more than its capacity'],
    ],
  },
]
