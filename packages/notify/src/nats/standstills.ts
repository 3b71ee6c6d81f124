import type { ConsumerInfo } from '@nats-io/jetstream'
import { isOlder, type ServerVersion } from './server-version.ts'

/** Since then no message that is gone from the stream holds up others. */
const repairedIn: ServerVersion = [2, 10, 25]
/** Since then, and until after it was mended, an acknowledgement to a former consumer has its successor skip messages. */
const skippingSince: ServerVersion = [2, 10, 17]

/**
 * What is done about a consumer that stands still on a server of this version: it is created again, or an operator has to
 * do something. Undefined where none does.
 */
export function remedyOf(version: string | undefined): 'create-again' | 'report' | undefined {
  if (!isOlder(version, repairedIn)) return undefined
  return isOlder(version, skippingSince) ? 'create-again' : 'report'
}

/** What of a consumer shows whether it goes on. */
export type Progress = Pick<ConsumerInfo, 'created' | 'num_ack_pending' | 'num_waiting'> & {
  readonly delivered: Pick<ConsumerInfo['delivered'], 'consumer_seq'>
}

interface Seen {
  readonly created: string
  readonly delivered: number
  /** From when on it may stand still, by `performance.now()`. */
  readonly at: number
  /** When it was looked at last. */
  readonly seenAt: number
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
  readonly #since = new Map<string, Seen>()

  /** @param afterMs longer than any message may wait for its next delivery, in milliseconds */
  constructor(afterMs: number) {
    this.#afterMs = afterMs
  }

  /**
   * Notes what the consumer of a stream is like `now` (by `performance.now()`), and tells whether it stands still: again
   * only when it has for as long once more. What happened while nobody looked is not known.
   */
  observe(stream: string, { created, num_ack_pending, num_waiting, delivered }: Progress, now: number): boolean {
    const since = this.#since.get(stream)
    const present = { created: String(created), delivered: delivered.consumer_seq, at: now, seenAt: now }
    if (since === undefined || num_waiting === 0 || goesOn(since, present, num_ack_pending, this.#afterMs)) {
      this.#since.set(stream, present)
      return false
    }
    const isStanding = now - since.at >= this.#afterMs
    this.#since.set(stream, isStanding ? present : { ...since, seenAt: now })
    return isStanding
  }
}

/** Also where it is another consumer or another count of deliveries, or was not seen for long. */
function goesOn(since: Seen, present: Seen, unacknowledged: number, afterMs: number): boolean {
  const deliveries = present.delivered - since.delivered
  const isOther = present.created !== since.created || deliveries < 0 || present.seenAt - since.seenAt >= afterMs / 3
  return isOther || deliveries >= unacknowledged
}
