import { decodeUtf8, type Log } from '@gatehouse/kit'
import type { ConsumerMessages, JetStreamClient, JsMsg } from '@nats-io/jetstream'
import type { TopicMessage } from '../model/topic.ts'
import { pause, within } from './deadline.ts'
import { durableName, type Resources } from './resources.ts'
import { intakeStream } from './streams.ts'

/** Options of {@link TopicReader}. */
export interface TopicReaderOptions {
  readonly client: JetStreamClient
  readonly resources: Resources
  readonly handle: (message: TopicMessage) => Promise<void>
  /** Messages under way at once. */
  readonly concurrency: number
  readonly log: Log
}

const retryDelayMs = 5_000
/** How long a request for messages stands; a server that is silent for half of it twice is looked after. */
const pullMs = 10_000
const maxPauseMs = 5_000
const stopMs = 5_000

/**
 * Reads the topic for as long as it isn't stopped. When the consumer or its stream disappears, or the server can't be
 * asked, that is logged and tried again with growing pauses; until it succeeds there is a `fault`.
 */
export class TopicReader {
  readonly #options: TopicReaderOptions
  readonly #stopping = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  readonly #done: Promise<void>
  #messages: ConsumerMessages | undefined
  #fault: Error | undefined

  constructor(options: TopicReaderOptions) {
    this.#options = options
    const unsubscribe = options.resources.onLost((error) => this.#messages?.stop(error))
    this.#done = this.#run().finally(unsubscribe)
  }

  /** Why the topic is not read at the moment. */
  get fault(): Error | undefined {
    return this.#fault
  }

  /** Takes no further message and resolves when those under way are done. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#messages?.stop()
    await within(stopMs, 'the end of reading the topic', this.#done).catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'the topic was left without waiting any longer'),
    )
    await Promise.all(this.#underWay)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#open()
        failures = 0
        await this.#read()
        if (!signal.aborted) throw new Error('the server ended it')
      } catch (error) {
        if (signal.aborted) return
        failures++
        this.#fault = error as Error
        this.#options.log.error({ err: error, failures }, 'the topic is not read; its consumer will be opened again')
        await pause(Math.min(maxPauseMs, 100 * 2 ** failures) * (0.5 + Math.random() / 2), signal)
      }
    }
  }

  async #open(): Promise<void> {
    const { client, resources, concurrency } = this.#options
    await resources.prepare()
    const consumer = await client.consumers.get(intakeStream.name, durableName)
    const options = { max_messages: concurrency, expires: pullMs, abort_on_missing_resource: true }
    this.#messages = await consumer.consume(options)
    if (this.#stopping.signal.aborted) this.#messages.stop()
    this.#fault = undefined
  }

  async #read(): Promise<void> {
    const { handle, concurrency, log } = this.#options
    for await (const message of this.#messages ?? []) {
      const done: Promise<void> = handle(topicMessage(message))
        .catch((error: unknown) => {
          log.error({ err: error }, 'a message of the topic could not be handled and will be delivered again')
          message.nak(retryDelayMs)
        })
        .finally(() => this.#underWay.delete(done))
      this.#underWay.add(done)
      if (this.#underWay.size >= concurrency) await Promise.race(this.#underWay)
    }
  }
}

function topicMessage(message: JsMsg): TopicMessage {
  return {
    text: decodeUtf8(Buffer.from(message.data)),
    place: message.info.streamSequence,
    publishedAt: Math.floor(message.info.timestampNanos / 1_000_000),
    key: `${message.info.stream}:${message.info.streamSequence}:${message.info.timestampNanos}`,
    ack: () => message.ack(),
    later: (delayMs) => message.nak(delayMs),
    terminate: (reason) => message.term(reason),
  }
}
