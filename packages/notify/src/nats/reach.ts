import type { NatsConnection } from '@nats-io/transport-node'
import type { TopicReach } from '../model/work/topic.ts'

const askEveryMs = 1_000
/** It is asked each second: so often without an answer, and it is not certain any more that it would answer. */
const maxMissed = 3
/** So often, and others should read what this process does. All of that moves, so a restart is waited for. */
const lostAfter = 10
/** So often without a gap, and it is certain: others that the same outage cut off are back by then, too. */
const certainAfter = 20

/**
 * Asks the server every second, and knows whether it answers. Questions are counted, not time: a process that stood still
 * itself has not lost the server. But it is certain of it only once it has asked again.
 */
export class Reach {
  readonly #connection: Pick<NatsConnection, 'flush'>
  readonly #timer: NodeJS.Timeout
  #isPending = false
  #missed = 0
  #answered = 0
  #answeredAt = 0

  constructor(connection: Pick<NatsConnection, 'flush'>) {
    this.#connection = connection
    this.#timer = setInterval(() => this.#ask(), askEveryMs).unref()
  }

  get state(): TopicReach {
    if (this.#missed >= lostAfter) return 'lost'
    const isFresh = performance.now() - this.#answeredAt < maxMissed * askEveryMs
    return isFresh && this.#answered >= certainAfter ? 'reached' : 'unsure'
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #ask(): void {
    if (this.#missed >= maxMissed) this.#answered = 0
    this.#missed++
    if (this.#isPending) return
    this.#isPending = true
    this.#connection
      .flush()
      .then(
        () => {
          this.#missed = 0
          this.#answered++
          this.#answeredAt = performance.now()
        },
        () => {},
      )
      .finally(() => {
        this.#isPending = false
      })
  }
}
