import { RetentionPolicy } from '@nats-io/jetstream'
import { isPartitionCount, maxPartitions } from '../model/work/partition.ts'
import { type StreamDefinition, userSubjects } from './streams.ts'

/** How the topic is divided. */
export interface PartitionSettings {
  /** A power of two, 1 to 1,024. Default 1: not divided. */
  readonly count?: number
  /** Streams that the partitions are divided among. Default 1. More need a mapping of subjects in the server. */
  readonly streams?: number
}

/** The streams of the topic and of state changes. */
export interface Layout {
  readonly intake: StreamDefinition
  readonly changes: StreamDefinition
  /**
   * Where messages of an undivided topic wait that were set aside; of one that is divided by now, some may be left. And
   * those for streams of partitions that take nothing.
   */
  readonly waiting: StreamDefinition
  /** How many partitions; 1 where the topic is not divided. */
  readonly partitions: number
  /** The streams of the partitions, none where the topic is not divided. */
  readonly partitionStreams: readonly StreamDefinition[]
  /** The stream of a partition, by its name. */
  streamOf(partition: number): string
}

/** The subject that the specification names. Only the body says whom an event is about. */
const intakeSubject = 'notifications'

/** The subject of messages that were set aside. */
export const waitingSubject = 'notification-waiting'

/** The subject of messages that were set aside since a stream of partitions did not take them. */
export const waitingSubjectOf = (stream: string): string => `${waitingSubject}.${stream}`

/** The subjects of all such streams. */
export const waitingSubjects = waitingSubjectOf('*')

/** The subject of a partition. Those below `notifications` would overlap that of the state changes. */
export const partitionSubject = (partition: number | string): string => `notification-partitions.${partition}`

const partitionStreamPrefix = 'NOTIFICATION_PARTITIONS_'

/** Whether a stream is one of partitions, by its name. */
export const isPartitionStream = (name: string): boolean => name.startsWith(partitionStreamPrefix)

/** At a limit an intake refuses: what a producer was acknowledged is never removed unread. */
const intakeOf = { retention: RetentionPolicy.Workqueue, defaults: { storage: 'file', discard: 'new' } } as const

/** How many consumers a stream may have by default, since nats-server 2.15. Fewer may be allowed to an account. */
const usualConsumers = 1_000

/** What nats-server does with the subject of a user: its own hash of the token decides the partition. */
export const mappingOf = (partitions: number) => ({
  src: userSubjects,
  dest: partitionSubject(`{{partition(${partitions},1)}}`),
})

/**
 * The streams for so many partitions. With one, `NOTIFICATIONS` takes everything. With more, it takes what names no user
 * in its subject, and `NOTIFICATION_PARTITIONS_1` and so on take the partitions, each a range of them. A single one of
 * these divides by itself; several need the mapping of subjects in the server, which comes before the streams.
 * @throws RangeError where these are no numbers of partitions and streams
 */
export function layoutOf({ count: partitions = 1, streams = 1 }: PartitionSettings): Layout {
  if (!isPartitionCount(partitions)) throw new RangeError(`partitions must be a power of two, 1 to ${maxPartitions}`)
  const perStream = partitions / streams
  if (!Number.isInteger(perStream))
    throw new RangeError(`streams of partitions must divide their number, ${partitions}`)
  const nameOf = (index: number) => `${partitionStreamPrefix}${index + 1}`
  const partitionStreams = Array.from({ length: partitions === 1 ? 0 : streams }, (_, index): StreamDefinition => {
    const subjects = Array.from({ length: perStream }, (_, n) => partitionSubject(index * perStream + n))
    return {
      ...intakeOf,
      name: nameOf(index),
      subjects: streams === 1 ? [...subjects, userSubjects] : subjects,
      // One for each, with room for those of former owners.
      ...(perStream > usualConsumers / 2 ? { maxConsumers: 2 * perStream } : {}),
      ...(streams === 1 ? { transform: mappingOf(partitions) } : {}),
    }
  })
  return {
    intake: {
      ...intakeOf,
      name: 'NOTIFICATIONS',
      subjects: partitions === 1 ? [intakeSubject, userSubjects] : [intakeSubject],
    },
    changes: changesStream,
    waiting: { ...intakeOf, name: 'NOTIFICATIONS_WAITING', subjects: [waitingSubject, waitingSubjects] },
    partitions,
    partitionStreams,
    streamOf: (partition) => nameOf(Math.floor(partition / perStream)),
  }
}

/** All streams that events come in by. */
export function intakesOf({ intake, waiting, partitionStreams }: Layout): readonly StreamDefinition[] {
  return [intake, waiting, ...partitionStreams]
}

/** The subject state changes are published on. */
const changesStream: StreamDefinition = {
  name: 'NOTIFICATION_EVENTS',
  subjects: ['notifications.events'],
  retention: RetentionPolicy.Limits,
  defaults: { storage: 'file', discard: 'old', maxAgeMs: 7 * 86_400_000 },
}
