import type { Log } from '@gatehouse/kit'
import type { JetStreamClient, JsMsg } from '@nats-io/jetstream'
import type { PartitionOwnership } from '../model/work/partition.ts'
import type { TopicMessage } from '../model/work/topic.ts'
import { type Layout, waitingSubject } from './layout.ts'
import { headersOfMoved, keyOf, sharedMessage } from './message.ts'
import { PartitionReaders } from './partition-readers.ts'
import { Reader } from './reader.ts'
import type { Resources } from './resources.ts'

/** Options of {@link startReading}. */
export interface ReadingOptions {
  readonly client: JetStreamClient
  readonly resources: Resources
  readonly layout: Layout
  readonly handle: (message: TopicMessage) => Promise<void>
  readonly ownership: PartitionOwnership
  /** Messages under way at once. */
  readonly concurrency: number
  readonly log: Log
}

/** The topic as this process reads it. */
export interface Reading {
  /** Why some of it is not read at the moment. */
  readonly fault: Error | undefined
  /** Takes no further message and resolves when those under way are done. */
  stop(): Promise<void>
}

/** Reads an undivided topic together with all processes, and a divided one by its partitions. */
export function startReading(options: ReadingOptions): Reading {
  return options.layout.partitions === 1 ? new SharedReaders(options) : new PartitionReaders(options)
}

const publishMs = 5_000

/**
 * Reads an undivided topic, together with all processes, and what was set aside of it. The server hands out a bounded
 * number of messages that nobody has acknowledged: those whose part of the database is away would soon be all of them.
 * So they are moved to a stream of their own.
 */
class SharedReaders {
  readonly #options: ReadingOptions
  readonly #readers: readonly Reader[]

  constructor(options: ReadingOptions) {
    this.#options = options
    const { intake, waiting } = options.layout
    this.#readers = [
      this.#open('the topic', intake.name, (message) => this.#move(message)),
      this.#open('what waits of the topic', waiting.name, (message, delayMs) => this.#waitOrMove(message, delayMs)),
    ]
  }

  /** Why some of it is not read at the moment. */
  get fault(): Error | undefined {
    return this.#readers.find(({ fault }) => fault !== undefined)?.fault
  }

  /** Takes no further message and resolves when those under way are done. */
  async stop(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.stop()))
  }

  #open(what: string, stream: string, setAside: (message: JsMsg, delayMs: number) => Promise<void>): Reader {
    const { resources, handle, concurrency, log } = this.#options
    return new Reader({
      what,
      openConsumer: () => resources.openShared(stream),
      onLost: (lost) => resources.onSharedLost(stream, lost),
      handle: (message) =>
        handle(
          sharedMessage(message, (delayMs) =>
            setAside(message, delayMs).catch((error: unknown) => {
              log.warn({ err: error }, 'a message of the topic could not be set aside and will be delivered again')
              message.nak(delayMs)
            }),
          ),
        ),
      concurrency,
      log,
    })
  }

  /** Of what waits, too, one part may be back before another: after a while a message goes to the end. */
  async #waitOrMove(message: JsMsg, delayMs: number): Promise<void> {
    if (message.info.deliveryCount > 1) await this.#move(message)
    else message.nak(delayMs)
  }

  /** To the end of what waits. A message that is moved twice keeps its key, by which the second is a duplicate. */
  async #move(message: JsMsg): Promise<void> {
    const { client, layout } = this.#options
    await client.publish(waitingSubject, message.data, {
      msgID: keyOf(message),
      headers: headersOfMoved(message),
      timeout: publishMs,
      expect: { streamName: layout.waiting.name },
    })
    message.ack()
  }
}
