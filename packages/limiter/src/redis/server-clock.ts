const sampleLifeMs = 10_000
/** Clocks are read in whole steps, and slewed a little. */
const slackMs = 2

/**
 * The server's time, told from its answers: every process that shares the server then counts in the same windows,
 * however its own clock stands. Runs on the monotonic clock in between, so that a step of the local clock moves nothing.
 */
export class ServerClock {
  #offsetMs: number | undefined
  /** The least that the offset may be: as if the answer had been made the moment it came. */
  #minOffsetMs = 0
  #bestRoundTripMs = Number.POSITIVE_INFINITY
  #sampledAt = 0

  /** The server's time in Unix milliseconds, or `otherwise` before the first answer. */
  now(otherwise: number): number {
    return this.#offsetMs === undefined ? otherwise : Math.floor(performance.now() + this.#offsetMs)
  }

  /**
   * The earliest that it may be at the server, in Unix milliseconds, or `otherwise` before the first answer: what must not
   * happen later than at a moment of the server's is counted from here, however little a slow answer said.
   */
  earliest(otherwise: number): number {
    return this.#offsetMs === undefined ? otherwise : Math.floor(performance.now() + this.#minOffsetMs)
  }

  /**
   * Learns from an answer; the quicker a round trip was, the more its middle says. Times from `performance.now()`.
   * @returns by how many milliseconds the server's clock is beside what was known of it: an answer is made between its
   * being asked for and its coming
   */
  learn(serverMs: number, sentAt: number, receivedAt: number): number {
    const roundTripMs = receivedAt - sentAt
    const movedMs = this.#driftMs(serverMs - receivedAt, serverMs - sentAt)
    const stale = movedMs > slackMs || receivedAt - this.#sampledAt > sampleLifeMs
    if (!stale && roundTripMs > this.#bestRoundTripMs) return movedMs
    this.#offsetMs = serverMs - (sentAt + receivedAt) / 2
    this.#minOffsetMs = serverMs - receivedAt
    this.#bestRoundTripMs = roundTripMs
    this.#sampledAt = receivedAt
    return movedMs
  }

  /** How far the known offset is outside of what an answer allows. */
  #driftMs(least: number, most: number): number {
    return this.#offsetMs === undefined ? 0 : Math.max(0, least - this.#offsetMs, this.#offsetMs - most)
  }
}
