import { defaultOptions } from '@gatehouse/notify'
import { Type } from 'typebox'
import { limit, strict, whole } from './numbers.ts'

/** Of a stream of NATS. What is left out is as the stream has it, and `fallback` where the stream is created. */
const stream = (description: string, fallback: { readonly discard: string; readonly maxAgeSeconds: number }) =>
  Type.Optional(
    Type.Object(
      {
        replicas: whole(
          1,
          5,
          'Copies in a cluster of NATS. Left out: NATS_REPLICAS, and without it 1 where the stream is created.',
        ),
        storage: Type.Optional(
          Type.Enum(['file', 'memory'], {
            description: 'Where messages are kept; file where the stream is created. It can not be changed afterwards.',
          }),
        ),
        max_age_seconds: limit(
          0,
          120,
          `Older messages are removed; 0 for none, else at least 120, for which NATS remembers message ids; ${fallback.maxAgeSeconds} where the stream is created.`,
        ),
        max_bytes: limit(-1, 1, 'Most bytes; -1 for any, as where the stream is created.'),
        max_messages: limit(-1, 1, 'Most messages; -1 for any, as where the stream is created.'),
        discard: Type.Optional(
          Type.Enum(['old', 'new'], {
            description: `At a limit: the oldest messages are removed, or new ones refused; ${fallback.discard} where the stream is created.`,
          }),
        ),
      },
      { ...strict, description },
    ),
  )

/** Powers of two up to what a topic may have. */
const partitionCounts = Array.from({ length: 11 }, (_, power) => 2 ** power)

/** `notify.topic:` in the configuration file. */
export const topic = Type.Optional(
  Type.Object(
    {
      attempts: whole(
        1,
        100,
        'Failures of a message by its own fault before it becomes a dead letter; those of the database or of NATS are not counted.',
        defaultOptions.topicAttempts,
      ),
      partitions: Type.Optional(
        Type.Enum([...partitionCounts], {
          default: 1,
          description:
            'Into how many the topic is divided by user, each read by one process at a time, so that the events of a user stay in order. A power of two, and a multiple of NOTIFY_BUCKETS where that is more than 1.',
        }),
      ),
      partition_streams: whole(
        1,
        64,
        'Streams that the partitions are divided among. More than 1 needs a mapping of subjects in nats-server.',
        1,
      ),
      notifications: stream('The streams which producers publish to: NOTIFICATIONS, and those of partitions.', {
        discard: 'new',
        maxAgeSeconds: 0,
      }),
      state_changes: stream('The stream NOTIFICATION_EVENTS of state changes.', {
        discard: 'old',
        maxAgeSeconds: 7 * 86_400,
      }),
    },
    { ...strict, description: 'The topic on NATS, where `engines.nats_url` says that there is one.' },
  ),
)
