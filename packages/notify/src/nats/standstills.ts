import type { ConsumerInfo } from '@nats-io/jetstream'

/** What of a consumer shows whether it goes on. */
export type Progress = Pick<ConsumerInfo, 'created' | 'num_ack_pending' | 'num_waiting'> & {
  readonly delivered: Pick<ConsumerInfo['delivered'], 'consumer_seq'>
}

interface Since {
  readonly created: string
  readonly delivered: number
  /** By `performance.now()`. */
  readonly at: number
}

/**
 * Finds consumers that stand still. Whatever nobody acknowledges is delivered again after a while, so that in a while
 * there are at least as many deliveries as messages without an acknowledgement. Where there are fewer, though somebody
 * asks for messages, the server has messages for delivered that it cannot deliver again: it crashed, and what it had
 * removed from the stream it has not removed from the consumer. Before nats-server 2.10.25 each of them holds up all
 * others, until next to nothing is delivered.
 */
export class Standstills {
  readonly #afterMs: number
  readonly #since = new Map<string, Since>()

  /** @param afterMs longer than any message may wait for its next delivery, in milliseconds */
  constructor(afterMs: number) {
    this.#afterMs = afterMs
  }

  /** Notes what the consumer of a stream is like `now` (by `performance.now()`), and tells whether it stands still. */
  observe(stream: string, { created, num_ack_pending, num_waiting, delivered }: Progress, now: number): boolean {
    const since = this.#since.get(stream)
    const goesOn =
      since?.created !== String(created) ||
      num_waiting === 0 ||
      num_ack_pending <= delivered.consumer_seq - since.delivered
    if (goesOn) this.#since.set(stream, { created: String(created), delivered: delivered.consumer_seq, at: now })
    return !goesOn && now - since.at >= this.#afterMs
  }
}
