/** The time as Unix milliseconds. Handed in, so that tests move time instead of waiting. */
export interface Clock {
  now(): number
}

const callsPerRefresh = 256

/**
 * The machine's clock, read about once a millisecond instead of at every check: reading it costs as much as a whole
 * check. A timer refreshes it while it is being used and stops when it is not; a loop that never yields still sees
 * the time move every few hundred reads.
 */
export function coarseClock(): Clock {
  let time = Date.now()
  let calls = 0
  let ticking = false

  const tick = (): void => {
    if (calls === 0) {
      ticking = false
      return
    }
    calls = 0
    time = Date.now()
    setTimeout(tick, 1).unref()
  }

  return {
    now() {
      if (++calls % callsPerRefresh === 0) time = Date.now()
      if (!ticking) {
        ticking = true
        time = Date.now()
        setTimeout(tick, 1).unref()
      }
      return time
    },
  }
}
