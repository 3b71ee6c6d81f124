const minDelayMs = 100
const maxDelayMs = 30_000
/** A worker that listened for this long is healthy: its next failure is a first one. */
const healthyMs = 60_000

/** How many crashes of all workers within how long end the supervisor. */
export const crashLimit = { crashes: 5, withinMs: 60_000 } as const

/** How long a worker waits for its restart: 0.1 s, doubled with each failure to 30 s, and 0.1 s again after a minute of health. */
export class Backoff {
  #nextMs = minDelayMs

  /** `listenedMs` is how long the failed worker listened, 0 when it never did. */
  delayAfter(listenedMs: number): number {
    const delayMs = listenedMs >= healthyMs ? minDelayMs : this.#nextMs
    this.#nextMs = Math.min(delayMs * 2, maxDelayMs)
    return delayMs
  }
}

/** Counts crashes within the last minute. */
export class CrashCount {
  #times: number[] = []

  /** Records a crash at `now`, in milliseconds; whether it is one too many. */
  record(now: number): boolean {
    this.#times = [...this.#times.filter((time) => now - time < crashLimit.withinMs), now]
    return this.#times.length >= crashLimit.crashes
  }
}
