import type { Log } from '@gatehouse/kit'
import {
  AckPolicy,
  type Consumer,
  type ConsumerInfo,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
} from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/transport-node'
import { ConsumerLists } from './consumer-lists.ts'
import { about, isAway } from './faults.ts'
import { intakesOf, type Layout } from './layout.ts'
import { checkFormerPartitions, checkMapping } from './partitioning.ts'
import { remedyOf, Standstills } from './standstills.ts'
import { applySettings, createMissing, isMissing, type StreamDefinition, type StreamSettings } from './streams.ts'

/** Options of {@link Resources}. */
export interface ResourcesOptions {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly layout: Layout
  readonly intake: StreamSettings
  readonly changes: StreamSettings
  /** Most messages of a shared consumer that are delivered and not acknowledged, over all processes. */
  readonly maxAckPending: number
  /** After how long a shared consumer that stands still is created again, in milliseconds. */
  readonly standstillMs: number
  readonly log: Log
}

/** The durable consumer of a stream that all processes share. */
const sharedName = 'notify'

/** In the metadata of a consumer of a partition: the generation of the owner that opened it. */
const generationKey = 'gatehouse-generation'

/** Another consumer reads these subjects already. */
const alreadyRead: ReadonlySet<number> = new Set([10_099, 10_100])
/** How often consumers are listed again that were missed: a list of several pages is one of no single moment. */
const maxLooks = 3

const ackWaitMs = 30_000
/** A consumer of a partition that nobody asks for messages is removed by the server after so long. */
const abandonedMs = 30_000

/** The streams and the consumers: creates what is missing, at the start and later. */
export class Resources {
  readonly #options: ResourcesOptions
  readonly #shared = new Map<string, Set<(error: Error) => void>>()
  readonly #consumers: ConsumerLists
  #timer: NodeJS.Timeout | undefined
  #preparing: Promise<void> | undefined
  #isSettled = false
  /** The streams that have the settings; what was away at the start gets them when it is read. */
  readonly #applied = new Set<string>()
  readonly #standstills: Standstills

  constructor(options: ResourcesOptions) {
    this.#options = options
    this.#consumers = new ConsumerLists(options.manager)
    this.#standstills = new Standstills(options.standstillMs)
  }

  /** Creates what is missing, and brings what exists to the settings at the first time. Calls at once share one run. */
  prepare(): Promise<void> {
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined
    })
    return this.#preparing
  }

  /** @throws when a stream or a shared consumer is missing, or the server does not answer */
  async verify(): Promise<void> {
    await Promise.all([...this.#lookUpStreams(), ...this.#lookUpShared().values()])
  }

  /** How many messages a stream has of each of some subjects. */
  async countMessages(stream: string, subjects: string): Promise<Readonly<Record<string, number>>> {
    await this.#prepareOne(stream)
    const { state } = await this.#options.manager.streams.info(stream, { subjects_filter: subjects })
    return state.subjects ?? {}
  }

  /** The consumer of a stream that all processes share. The stream is created before, where it is missing. */
  async openShared(stream: string): Promise<Consumer> {
    await this.#prepareOne(stream)
    await this.#addShared(stream)
    return this.#options.client.consumers.get(stream, sharedName)
  }

  /** Calls `lost` when the shared consumer of a stream is found missing. Answers how to stop that. */
  onSharedLost(stream: string, lost: (error: Error) => void): () => void {
    const known = this.#shared.get(stream) ?? new Set()
    this.#shared.set(stream, known.add(lost))
    return () => {
      known.delete(lost)
      if (known.size === 0) this.#shared.delete(stream)
    }
  }

  /**
   * A new consumer of some subjects of a stream, in place of whatever read them before: whoever used that one is ended by
   * the server, and what it did not acknowledge comes to this one first, in the order of the stream. Undefined where
   * that is an owner of a greater generation: between looking and creating nobody comes unnoticed, since the stream has at
   * most one consumer of a subject. The state of such a consumer is kept in memory, which halves what it costs a cluster:
   * without it, it begins with what is not acknowledged.
   */
  async openExclusive(
    stream: string,
    { group, filter, maxAckPending }: ExclusiveOptions,
    generation: number,
  ): Promise<Consumer | undefined> {
    await this.#prepareOne(stream)
    const { manager, client } = this.#options
    const name = `${group}-${crypto.randomUUID()}`
    for (let looks = 1; ; looks++) {
      for (const { name: former, config } of await this.#consumers.list(stream)) {
        if (former !== sharedName && !former.startsWith(`${group}-`)) continue
        if (Number(config.metadata?.[generationKey] ?? 0) > generation) return undefined
        await this.#deleteConsumer(stream, former)
      }
      try {
        await manager.consumers.add(stream, {
          durable_name: name,
          metadata: { [generationKey]: String(generation) },
          inactive_threshold: nanos(abandonedMs),
          mem_storage: true,
          ...(filter === undefined ? {} : { filter_subject: filter }),
          ack_policy: AckPolicy.Explicit,
          ack_wait: nanos(ackWaitMs),
          max_deliver: -1,
          max_ack_pending: maxAckPending,
        })
        break
      } catch (error) {
        if (!(error instanceof JetStreamApiError && alreadyRead.has(error.code)) || looks >= maxLooks) throw error
      }
    }
    return client.consumers.get(stream, name)
  }

  /** One that is gone since it was listed is as good as deleted. */
  async #deleteConsumer(stream: string, name: string): Promise<void> {
    try {
      await this.#options.manager.consumers.delete(stream, name)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  startChecks(everyMs: number): void {
    this.#timer = setInterval(() => this.checkSoon(), everyMs).unref()
  }

  stopChecks(): void {
    clearInterval(this.#timer)
  }

  /** Checks now that everything is there, without making anybody wait. */
  checkSoon(): void {
    this.#check().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the streams of NATS could not be checked')
    })
  }

  async #check(): Promise<void> {
    if (this.#preparing) return
    const shared = this.#lookUpShared()
    const results = await Promise.allSettled([...this.#lookUpStreams(), ...shared.values()])
    await this.#endStandstills(shared)
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    if (faults.length === 0) return
    const fault = faults.find(isMissing)
    if (fault === undefined) throw faults[0]
    this.#options.log.error({ err: fault }, 'a stream or the consumer of NATS is gone; it is created again')
    await this.prepare()
    // Only now: a reader may have opened its stream by itself meanwhile.
    for (const stream of await this.#findMissing()) {
      await this.#addShared(stream)
      for (const lost of this.#shared.get(stream) ?? []) lost(fault)
    }
  }

  /** Ends standstills of shared consumers, where this server has them. What could not be looked at is left out. */
  async #endStandstills(shared: ReadonlyMap<string, Promise<ConsumerInfo>>): Promise<void> {
    const { connection, log } = this.#options
    const version = connection.info?.version
    const remedy = remedyOf(version)
    if (remedy === undefined) return
    for (const [stream, looked] of shared) {
      const info = await looked.catch(() => undefined)
      if (info === undefined || !this.#standstills.observe(stream, info, performance.now())) continue
      const about = { stream, version, unacknowledged: info.num_ack_pending, waiting: info.num_pending }
      if (remedy === 'report') log.error(about, 'NATS delivers too little of a stream: nats-server 2.10.25 would not')
      else {
        log.error(about, 'NATS delivers too little of a stream; its consumer is created again')
        await this.#createAgain(stream).catch((err: unknown) =>
          log.error({ err, stream }, 'the consumer of a stream could not be created again'),
        )
      }
    }
  }

  /**
   * Creates the shared consumer of a stream anew, which then begins with all that the stream has: what is under way comes
   * a second time, and is found to be there by its key.
   */
  async #createAgain(stream: string): Promise<void> {
    await this.#deleteConsumer(stream, sharedName)
    await this.#addShared(stream)
    for (const lost of this.#shared.get(stream) ?? []) lost(new Error(`the consumer of ${stream} stood still`))
  }

  #lookUpStreams(): Promise<unknown>[] {
    const { manager, layout } = this.#options
    return [...intakesOf(layout), layout.changes].map(({ name }) => manager.streams.info(name))
  }

  /** Asks for each shared consumer, by its stream. */
  #lookUpShared(): Map<string, Promise<ConsumerInfo>> {
    const { manager } = this.#options
    return new Map([...this.#shared.keys()].map((stream) => [stream, manager.consumers.info(stream, sharedName)]))
  }

  /** The streams whose shared consumer is missing. */
  async #findMissing(): Promise<string[]> {
    const shared = this.#lookUpShared()
    const results = await Promise.allSettled(shared.values())
    return [...shared.keys()].filter((_, index) => results[index]?.status === 'rejected')
  }

  async #prepare(): Promise<void> {
    const { connection, manager, layout } = this.#options
    if (!this.#isSettled) await checkFormerPartitions(connection, manager, layout)
    const faults = new Map<StreamDefinition, unknown>()
    for (const stream of [...intakesOf(layout), layout.changes])
      await this.#prepareStream(stream).catch((error: unknown) => {
        if (!this.#isSettled && !(layout.partitionStreams.includes(stream) && isAway(error))) throw error
        // One that is away keeps no other from being created.
        faults.set(stream, error)
      })
    const [fault] = faults.values()
    const isUsable = !this.#isSettled && layout.partitionStreams.some((stream) => !faults.has(stream))
    if (fault !== undefined && !isUsable) throw fault
    if (this.#isSettled) return
    for (const [{ name }, error] of faults)
      this.#options.log.error(
        { err: error, stream: name },
        'a stream of partitions is away; the start goes on without it',
      )
    await checkMapping(connection, manager, layout, new Set([...faults.keys()].map(({ name }) => name)))
    this.#isSettled = true
  }

  /** Creates a stream that is missing. The others may be away: it is used without them. */
  async #prepareOne(name: string): Promise<void> {
    const { layout } = this.#options
    const definition = intakesOf(layout).find((stream) => stream.name === name)
    if (!definition || !(await this.#prepareStream(definition)) || !this.#isSettled) return
    this.#options.log.error({ stream: name }, 'a stream of NATS was gone, and was created again')
  }

  /** Answers whether it was missing. */
  async #prepareStream(definition: StreamDefinition): Promise<boolean> {
    const { manager, layout, intake, changes, log } = this.#options
    const { name } = definition
    const settings = definition === layout.changes ? changes : intake
    try {
      const isCreated = await createMissing(manager, definition, settings)
      if (isCreated) log.info({ stream: name }, 'a stream of NATS was created')
      else if (!this.#applied.has(name)) await applySettings(manager, definition, settings, log)
      this.#applied.add(name)
      return isCreated
    } catch (error) {
      throw about(`the stream ${name}`, error)
    }
  }

  async #addShared(stream: string): Promise<void> {
    await this.#options.manager.consumers.add(stream, {
      durable_name: sharedName,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: this.#options.maxAckPending,
    })
  }
}

/** Options of {@link Resources.openExclusive}. */
export interface ExclusiveOptions {
  /** What is read, for the names of its consumers. */
  readonly group: string
  /** The subjects; left out for all of the stream. */
  readonly filter?: string
  /** Most messages that are delivered and not acknowledged. */
  readonly maxAckPending: number
}
