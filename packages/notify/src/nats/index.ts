import { decodeUtf8, type Log, StartError } from '@gatehouse/kit'
import {
  AckPolicy,
  type ConsumerMessages,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import type { Topic, TopicMessage } from '../topic.ts'

export interface NatsTopicOptions {
  /** `nats://user:password@host:4222`, or several with commas between. */
  readonly url: string
  readonly log: Log
  /** Messages under way at once in this process. Default 500. */
  readonly concurrency?: number
}

/** The subject producers publish to, and its stream. */
const intake = { subject: 'notifications', stream: 'NOTIFICATIONS', consumer: 'notify' } as const
/** The subject state changes are published on, and its stream. */
const events = { subject: 'notifications.events', stream: 'NOTIFICATION_EVENTS' } as const

const ackWaitMs = 30_000
const retryDelayMs = 5_000
const defaultConcurrency = 500
const eventsKeptMs = 7 * 86_400_000

/**
 * The topic `notifications` and the stream `notifications.events` on NATS JetStream. Streams and the durable consumer
 * are made when they are missing; streams that an operator made are taken as they are. Throws {@link StartError} when
 * NATS can't be reached.
 */
export async function natsTopic(options: NatsTopicOptions): Promise<Topic> {
  const connection = await open(options)
  const manager = await jetstreamManager(connection)
  await prepare(manager, options.concurrency ?? defaultConcurrency)
  const client = jetstream(connection)
  return {
    consume: (handle) => consume(client, handle, options),
    async publish(list) {
      await Promise.all(
        list.map(({ id, payload }) => client.publish(events.subject, JSON.stringify(payload), { msgID: id })),
      )
    },
    ping: () => connection.flush(),
    close: () => connection.drain(),
  }
}

async function open({ url }: NatsTopicOptions): Promise<NatsConnection> {
  const servers = url.split(',').map((each) => new URL(each.trim()))
  const [first] = servers
  try {
    return await connect({
      servers: servers.map(({ host }) => host),
      ...(first?.username
        ? { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }
        : {}),
      ...(first?.protocol === 'tls:' ? { tls: {} } : {}),
      name: 'gatehouse',
      maxReconnectAttempts: -1,
      reconnectTimeWait: 500,
    })
  } catch (error) {
    throw new StartError(`NATS at NATS_URL can't be reached: ${(error as Error).message}.`, { cause: error })
  }
}

async function prepare(manager: JetStreamManager, concurrency: number): Promise<void> {
  const names = new Set<string>()
  for await (const name of manager.streams.names()) names.add(name)
  if (!names.has(intake.stream))
    await manager.streams.add({
      name: intake.stream,
      subjects: [intake.subject],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
    })
  if (!names.has(events.stream))
    await manager.streams.add({
      name: events.stream,
      subjects: [events.subject],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      max_age: nanos(eventsKeptMs),
    })
  await manager.consumers.add(intake.stream, {
    durable_name: intake.consumer,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_deliver: -1,
    max_ack_pending: concurrency * 10,
  })
}

async function consume(
  client: JetStreamClient,
  handle: (message: TopicMessage) => Promise<void>,
  { log, concurrency = defaultConcurrency }: NatsTopicOptions,
): Promise<{ stop(): Promise<void> }> {
  const consumer = await client.consumers.get(intake.stream, intake.consumer)
  const messages = await consumer.consume({ max_messages: concurrency })
  const underWay = new Set<Promise<void>>()
  const loop = hand(messages, underWay, concurrency, handle, log)
  return {
    async stop() {
      await messages.close()
      await loop
      await Promise.all(underWay)
    },
  }
}

async function hand(
  messages: ConsumerMessages,
  underWay: Set<Promise<void>>,
  concurrency: number,
  handle: (message: TopicMessage) => Promise<void>,
  log: Log,
): Promise<void> {
  for await (const message of messages) {
    const done: Promise<void> = handle(topicMessage(message))
      .catch((error: unknown) => {
        log.error({ err: error }, 'a message of the topic could not be handled and will be delivered again')
        message.nak(retryDelayMs)
      })
      .finally(() => underWay.delete(done))
    underWay.add(done)
    if (underWay.size >= concurrency) await Promise.race(underWay)
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
