/** The time and timers of a client. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number
  /** Calls back once after so many milliseconds, never earlier; answers how to cancel it. */
  after(milliseconds: number, callback: () => void): () => void
}

/** What a client needs of the place where it runs; all of it can be replaced. */
export interface Platform {
  /** Default: the global one. */
  readonly fetch: typeof globalThis.fetch
  /** Default: the system clock. */
  readonly clock: Clock
  /** A number from 0 up to 1; for jitter, never for secrets. */
  readonly random: () => number
}

/** Node, browsers, Deno, Bun and workers have these. */
export const systemPlatform: Platform = {
  fetch: (...request) => globalThis.fetch(...request),
  clock: {
    now: () => Date.now(),
    after(milliseconds, callback) {
      // Timers of 32 bits; some engines fire up to a millisecond early.
      const timer = setTimeout(callback, Math.min(Math.ceil(milliseconds) + 1, 0x7fff_ffff))
      return () => clearTimeout(timer)
    },
  },
  random: () => Math.random(),
}
