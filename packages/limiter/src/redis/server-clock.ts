import { readCoarsely } from '../clock.ts'

const sampleLifeMs = 10_000
/** Clocks are read in integer steps, and are slewed a little. */
const toleranceMs = 2

/**
 * An estimate of the server's time, from its replies: every process that shares the server then counts in the same
 * windows, whatever its own clock says. It runs on the monotonic clock, so a step of the local clock changes nothing.
 */
export class ServerClock {
  /** Read about once a millisecond: hybrid counting asks for the time at every check. */
  readonly #monotonic = readCoarsely(() => performance.now())
  #offsetMs: number | undefined
  /** The minimum of the offset: as if the reply had been made when it arrived. */
  #minOffsetMs = 0
  #bestRoundTripMs = Number.POSITIVE_INFINITY
  #sampledAt = 0

  /** The server's time in Unix milliseconds, or `otherwise` before the first reply. */
  now(otherwise: number): number {
    return this.#offsetMs === undefined ? otherwise : Math.floor(this.#monotonic() + this.#offsetMs)
  }

  /**
   * The earliest that it may be at the server, in Unix milliseconds, or `otherwise` before the first reply. Time limits
   * that the server checks begin here, however imprecise a slow reply was.
   */
  earliest(otherwise: number): number {
    return this.#offsetMs === undefined ? otherwise : Math.floor(performance.now() + this.#minOffsetMs)
  }

  /**
   * Learns from a reply: the shorter the round trip was, the more precise is its middle. Times by `performance.now()`.
   *
   * @returns by how many milliseconds the server's clock is outside of the estimate: a reply is made after it was asked
   * for and before it arrives
   */
  learn(serverMs: number, sentAt: number, receivedAt: number): number {
    const roundTripMs = receivedAt - sentAt
    const stepMs = this.#deviationMs(serverMs - receivedAt, serverMs - sentAt)
    const isStale = stepMs > toleranceMs || receivedAt - this.#sampledAt > sampleLifeMs
    if (!isStale && roundTripMs > this.#bestRoundTripMs) return stepMs
    this.#offsetMs = serverMs - (sentAt + receivedAt) / 2
    this.#minOffsetMs = serverMs - receivedAt
    this.#bestRoundTripMs = roundTripMs
    this.#sampledAt = receivedAt
    return stepMs
  }

  /** How far the known offset is outside of what a reply allows. */
  #deviationMs(min: number, max: number): number {
    return this.#offsetMs === undefined ? 0 : Math.max(0, min - this.#offsetMs, this.#offsetMs - max)
  }
}
