import type { JetStreamClient, PubAck } from '@nats-io/jetstream'
import type { StreamedEvent } from '../model/work/topic.ts'

const publishMs = 5_000

/**
 * Publishes to a stream that nobody else publishes to at the same time, in order and without gaps. The first message of
 * a batch goes alone. Each of the others names the sequence number that it follows, so that the stream keeps none behind
 * one that was lost on the way to a new leader. Every message must be acknowledged: what a call that failed had stored is
 * recognized by its message id, for two minutes.
 */
export class OrderedPublisher {
  readonly #client: JetStreamClient
  readonly #subject: string
  #publishing: Promise<unknown> = Promise.resolve()

  constructor(client: JetStreamClient, subject: string) {
    this.#client = client
    this.#subject = subject
  }

  /** Resolves once the stream keeps them all. @throws what kept the first that is missing from being stored */
  publish(events: readonly StreamedEvent[]): Promise<void> {
    const done = this.#publishing.then(() => this.#publish(events))
    this.#publishing = done.catch(() => {})
    return done
  }

  async #publish(events: readonly StreamedEvent[]): Promise<void> {
    for (let remaining = events; remaining[0]; ) {
      const { seq } = await this.#send(remaining[0])
      const following = remaining.slice(1)
      const results = await Promise.allSettled(following.map((event, index) => this.#send(event, seq + index)))
      const failed = results.findIndex(({ status }) => status === 'rejected')
      remaining = failed < 0 ? [] : following.slice(failed)
    }
  }

  #send({ id, payload }: StreamedEvent, lastSequence?: number): Promise<PubAck> {
    return this.#client.publish(this.#subject, JSON.stringify(payload), {
      msgID: id,
      timeout: publishMs,
      ...(lastSequence === undefined ? {} : { expect: { lastSequence } }),
    })
  }
}
