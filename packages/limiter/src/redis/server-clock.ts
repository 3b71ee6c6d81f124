const sampleLifeMs = 10_000

/**
 * The server's time, told from its answers: every process that shares the server then counts in the same windows,
 * however its own clock stands. Runs on the monotonic clock in between, so that a step of the local clock moves nothing.
 */
export class ServerClock {
  #offsetMs: number | undefined
  #bestRoundTripMs = Number.POSITIVE_INFINITY
  #sampledAt = 0

  /** The server's time in Unix milliseconds, or `otherwise` before the first answer. */
  now(otherwise: number): number {
    return this.#offsetMs === undefined ? otherwise : Math.floor(performance.now() + this.#offsetMs)
  }

  /** Learns from an answer; the quicker a round trip was, the more its middle says. Times from `performance.now()`. */
  learn(serverMs: number, sentAt: number, receivedAt: number): void {
    const roundTripMs = receivedAt - sentAt
    const stale = receivedAt - this.#sampledAt > sampleLifeMs
    if (!stale && roundTripMs > this.#bestRoundTripMs) return
    this.#offsetMs = serverMs - (sentAt + receivedAt) / 2
    this.#bestRoundTripMs = roundTripMs
    this.#sampledAt = receivedAt
  }
}
