import type { Log } from '@gatehouse/kit'
import type { JetStreamClient } from '@nats-io/jetstream'
import type { PartitionOwnership } from '../model/partition.ts'
import type { TopicMessage } from '../model/topic.ts'
import type { Layout } from './layout.ts'
import { topicMessage } from './message.ts'
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
  return options.layout.partitions === 1 ? readShared(options) : new PartitionReaders(options)
}

function readShared({ resources, layout, handle, concurrency, log }: ReadingOptions): Reading {
  const { name } = layout.intake
  return new Reader({
    what: 'the topic',
    openConsumer: () => resources.openShared(name),
    onLost: (lost) => resources.onSharedLost(name, lost),
    handle: (message) => handle(topicMessage(message)),
    concurrency,
    log,
  })
}
