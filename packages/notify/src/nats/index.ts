import { type Log, StartError, withinTime } from '@gatehouse/kit'
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import type { Topic } from '../model/work/topic.ts'
import { isTemporary, isUserRefused } from './faults.ts'
import { layoutOf, type PartitionSettings } from './layout.ts'
import { OrderedPublisher } from './publisher.ts'
import { Reach } from './reach.ts'
import { type Reading, startReading } from './reading.ts'
import { Resources } from './resources.ts'
import type { StreamSettings } from './streams.ts'

export type { PartitionSettings } from './layout.ts'
export type { StreamSettings } from './streams.ts'

/** Options of {@link natsTopic}. */
export interface NatsTopicOptions {
  /** `nats://user:password@host:4222`, or several with commas between. */
  readonly url: string
  readonly log: Log
  /** Messages under way at once in this process. Default 500. */
  readonly concurrency?: number
  /** How the topic is divided. By default it is not. */
  readonly partitions?: PartitionSettings
  /** The streams that producers publish to: `NOTIFICATIONS`, and those of partitions. */
  readonly intake?: StreamSettings
  /** The stream `NOTIFICATION_EVENTS` of state changes. */
  readonly changes?: StreamSettings
  /** How often it is checked that the streams and the consumer are there, in milliseconds. Default 10,000. */
  readonly checkMs?: number
  /**
   * After how long a shared consumer of which too little is delivered is created again, in milliseconds. Longer than any
   * message may wait for its next delivery. Default 90,000.
   */
  readonly standstillMs?: number
}

const defaultConcurrency = 500
const defaultCheckMs = 10_000
const defaultStandstillMs = 90_000
/** A server that accepts a connection and says nothing. */
const connectMs = 10_000
/** A server that says nothing any more is given up after two of these. */
const pingIntervalMs = 10_000
const maxPingOut = 2
const publishMs = 5_000
/** Each time for five seconds: another leader is there after nine, by what nats-server has for an election. */
const maxAttempts = 3
const readyMs = 2_000
const closeMs = 5_000

/**
 * The topic `notifications` and the stream `notifications.events` on NATS JetStream. Streams and durable consumers are
 * created when they are missing, at the start and whenever they disappear while this runs; a stream that exists is
 * brought to the settings as far as the server changes it.
 * @throws StartError when NATS can't be reached, or does not let us have the streams
 */
export async function natsTopic(options: NatsTopicOptions): Promise<Topic> {
  const { log, concurrency = defaultConcurrency, checkMs = defaultCheckMs, intake = {}, changes = {} } = options
  const { standstillMs = defaultStandstillMs } = options
  const layout = layoutOf(options.partitions ?? {})
  const connection = await open(options)
  const manager = await prepareJetStream(connection, () => openManager(connection))
  const client = jetstream(connection, { timeout: publishMs })
  const maxAckPending = concurrency * 10
  const resources = new Resources({
    connection,
    client,
    manager,
    layout,
    intake,
    changes,
    log,
    maxAckPending,
    standstillMs,
  })
  await prepareJetStream(connection, () => resources.prepare())
  const publisher = new OrderedPublisher(client, layout.changes.subjects[0] ?? '')
  const consuming = new Set<Reading>()
  let isClosing = false
  void followConnection(connection, log)
  void connection.closed().then((error) => {
    if (!isClosing) log.error({ err: error }, 'the connection to NATS is closed for good; this process needs a restart')
  })
  const reach = new Reach(connection)
  resources.startChecks(checkMs)
  return {
    partitions: layout.partitions,
    reach: () => reach.state,
    async consume(handle, ownership) {
      const reading = startReading({ client, resources, layout, handle, ownership, concurrency, log })
      consuming.add(reading)
      return {
        async stop() {
          await reading.stop()
          consuming.delete(reading)
        },
      }
    },
    async publish(list) {
      try {
        await publisher.publish(list)
      } catch (error) {
        resources.checkSoon()
        throw error
      }
    },
    async ping() {
      for (const { fault } of consuming) if (fault !== undefined) throw fault
      await withinTime(readyMs, 'the answer of NATS', resources.verify())
    },
    async close() {
      isClosing = true
      reach.stop()
      resources.stopChecks()
      await withinTime(closeMs, 'draining the connection to NATS', connection.drain())
        .catch(() => withinTime(closeMs, 'closing the connection to NATS', connection.close()))
        .catch((error: unknown) => log.warn({ err: error }, 'the connection to NATS was given up'))
    },
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
      timeout: connectMs,
      pingInterval: pingIntervalMs,
      maxPingOut,
      maxReconnectAttempts: -1,
      // Else a server that refuses the user twice, if only for a while, closes the connection for good.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: 500,
    })
  } catch (error) {
    throw new StartError(`NATS at NATS_URL can't be reached: ${(error as Error).message}.`, {
      cause: error,
      isTemporary: isTemporary(error),
    })
  }
}

/** Asks whether JetStream is there, a few times: after the server that leads a cluster died nobody answers for a while. */
async function openManager(connection: NatsConnection): Promise<JetStreamManager> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await jetstreamManager(connection)
    } catch (error) {
      if (attempt === maxAttempts || !(error instanceof errors.TimeoutError)) throw error
    }
  }
}

/** What the start does with JetStream. The connection is closed when it fails: it would keep the process alive. */
async function prepareJetStream<T>(connection: NatsConnection, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await withinTime(closeMs, 'closing the connection to NATS', connection.close()).catch(() => {})
    throw new StartError(`JetStream of NATS at NATS_URL can't be used: ${(error as Error).message}.`, {
      cause: error,
      isTemporary: isTemporary(error),
    })
  }
}

/** Logs what becomes of the connection. */
async function followConnection(connection: NatsConnection, log: Log): Promise<void> {
  let isRefused = false
  for await (const status of connection.status()) {
    const { type } = status
    if (type === 'disconnect') log.warn('the connection to NATS is lost; it will be made again')
    if (type === 'reconnect') {
      isRefused = false
      log.info('the connection to NATS is there again')
    }
    if (type === 'staleConnection') log.warn('NATS does not answer; the connection will be made again')
    if (type === 'error' && isUserRefused(status.error) && !isRefused) {
      // It is refused twice a second until the server is mended.
      isRefused = true
      log.error({ err: status.error }, 'NATS refuses the user of NATS_URL; it is asked again until it does not')
    }
  }
}
