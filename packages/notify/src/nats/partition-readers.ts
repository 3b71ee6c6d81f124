import type { Log } from '@gatehouse/kit'
import type { JetStreamClient } from '@nats-io/jetstream'
import type { PartitionOwnership } from '../model/work/partition.ts'
import type { TopicMessage } from '../model/work/topic.ts'
import { AwayStreams } from './away-streams.ts'
import { withoutGaps } from './gaps.ts'
import { type Layout, partitionSubject, waitingSubject, waitingSubjectOf } from './layout.ts'
import { orderedMessage } from './message.ts'
import { createMover } from './mover.ts'
import { type HandleMessage, Reader } from './reader.ts'
import type { Resources } from './resources.ts'

/** Options of {@link PartitionReaders}. */
export interface PartitionReadersOptions {
  readonly client: JetStreamClient
  readonly resources: Resources
  readonly layout: Layout
  readonly ownership: PartitionOwnership
  readonly handle: (message: TopicMessage) => Promise<void>
  /** Messages under way at once, in all. */
  readonly concurrency: number
  readonly log: Log
}

const minConcurrency = 20
/**
 * How many messages of a consumer may wait to be tried again. The server counts them as delivered and not acknowledged,
 * as it does those under way: within a smaller bound they would hold up all that follow.
 */
const maxWaiting = 10_000

/** Reads the partitions that this process owns, each alone. The owner of the first also moves messages to partitions. */
export class PartitionReaders {
  readonly #options: PartitionReadersOptions
  readonly #readers = new Map<string, Reader>()
  readonly #away: AwayStreams
  readonly #unsubscribe: () => void
  #isStopping = false
  #following: Promise<void> = Promise.resolve()

  constructor(options: PartitionReadersOptions) {
    this.#options = options
    this.#away = new AwayStreams(options)
    this.#unsubscribe = options.ownership.onChange(() => this.#followSoon())
    this.#followSoon()
  }

  /** Why a partition is not read at the moment. */
  get fault(): Error | undefined {
    return [...this.#readers.values()].find(({ fault }) => fault !== undefined)?.fault
  }

  /** Takes no further message and resolves when those under way are done. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#unsubscribe()
    await this.#following
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop()))
  }

  /** One change after the other, so that a partition that comes back is opened after it was left. */
  #followSoon(): void {
    this.#following = this.#following.then(() => this.#follow())
  }

  async #follow(): Promise<void> {
    if (this.#isStopping) return
    const wanted = this.#wantedReaders()
    const left = [...this.#readers].filter(([group]) => !wanted.has(group))
    for (const [group] of left) this.#readers.delete(group)
    await Promise.all(left.map(([, reader]) => reader.stop()))
    for (const [group, open] of wanted) if (!this.#readers.has(group)) this.#readers.set(group, open())
  }

  #wantedReaders(): Map<string, () => Reader> {
    const { ownership, layout } = this.#options
    const owned = ownership.ownedPartitions().filter((partition) => partition < layout.partitions)
    const readers = owned.map((partition) => [`notify-${partition}`, () => this.#openPartition(partition)] as const)
    return new Map([...readers, ...(owned.includes(0) ? this.#wantedMovers() : [])])
  }

  /** Of `NOTIFICATIONS`, of what an undivided topic had set aside, and of what waits for each of several streams. */
  #wantedMovers(): Array<readonly [string, () => Reader]> {
    const { client, layout, handle } = this.#options
    const { intake, waiting, partitionStreams } = layout
    const moving = { client, layout, handle }
    const several = partitionStreams.length > 1 ? partitionStreams.map(({ name }) => name) : []
    const away = this.#away
    const movers: MoverReaderOptions[] = [
      several.length > 1
        ? { stream: intake.name, group: 'move', handle: createMover({ ...moving, away }), onOpen: () => away.read() }
        : { stream: intake.name, group: 'move', handle: createMover(moving) },
      { stream: waiting.name, group: 'move', filter: waitingSubject, handle: createMover(moving) },
      ...several.map((name) => ({
        stream: waiting.name,
        group: `wait-${name}`,
        filter: waitingSubjectOf(name),
        handle: createMover({ ...moving, onMoved: ({ info }) => info.pending === 0 && away.endWaiting(name) }),
      })),
    ]
    return movers.map((each) => [`${each.stream} ${each.group}`, () => this.#openMover(each)])
  }

  #openPartition(partition: number): Reader {
    const { resources, layout, ownership, handle, log } = this.#options
    const concurrency = Math.max(minConcurrency, Math.ceil(this.#options.concurrency / layout.partitions))
    const options = {
      group: `notify-${partition}`,
      filter: partitionSubject(partition),
      maxAckPending: concurrency * 2 + maxWaiting,
    }
    return new Reader({
      what: `partition ${partition} of the topic`,
      openConsumer: async () =>
        ownership.ownedPartitions().includes(partition)
          ? resources.openExclusive(layout.streamOf(partition), options, ownership.generation)
          : undefined,
      handle: withoutGaps((message, interrupt) => handle(orderedMessage(message, interrupt))),
      concurrency,
      log,
    })
  }

  #openMover({ stream, group, filter, handle, onOpen }: MoverReaderOptions): Reader {
    const { resources, ownership, concurrency, log } = this.#options
    const options = { group, maxAckPending: concurrency * 2 + maxWaiting, ...(filter === undefined ? {} : { filter }) }
    return new Reader({
      what: `the stream ${stream}, which is not divided,`,
      openConsumer: async () => {
        if (!ownership.ownedPartitions().includes(0)) return undefined
        const consumer = await resources.openExclusive(stream, options, ownership.generation)
        if (consumer) await onOpen?.()
        return consumer
      },
      handle: withoutGaps(handle),
      concurrency,
      log,
    })
  }
}

/** What is moved to partitions. */
interface MoverReaderOptions {
  readonly stream: string
  /** For the names of its consumers. */
  readonly group: string
  /** The subjects; left out for all of the stream. */
  readonly filter?: string
  readonly handle: HandleMessage
  /** Called before each reading, once nobody else reads it any more. */
  readonly onOpen?: () => Promise<void>
}
