import { pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { idPattern } from '../../model/id.ts'
import { priorities } from '../../model/notification/priority.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id } from '../../request/schemas.ts'

const kinds = ['deferred', 'aggregating', 'parked'] as const

/** When the last item of the previous page is due, and its id. */
const Cursor = Type.String({
  pattern: `^[0-9TZ:.-]{20,30}_${idPattern.slice(1)}`,
  description: 'The `next` of the previous page.',
})

/** The query of GET /v1/pending. */
export const PendingQuery = Type.Object(
  {
    kind: Type.Enum([...kinds], { description: 'What is listed.' }),
    event: Type.Optional(Type.String({ maxLength: 200, description: 'Only of this event type.' })),
    ...pageMembers(Cursor),
  },
  { additionalProperties: false },
)

/** The parameters of `/v1/pending/{id}`. */
export const PendingParams = Type.Object({ id: Id })

const Pending = Type.Object(
  {
    kind: Type.Enum([...kinds]),
    id: Type.Optional(Type.String({ description: 'Left out of parked events, which are counted by event type.' })),
    event: Type.String(),
    user_id: Type.Optional(Type.String()),
    notification_id: Type.Optional(Type.String({ description: 'What is deferred.' })),
    channels: Type.Optional(Type.Array(Type.Enum([...channels]))),
    items: Type.Optional(
      Type.Integer({
        description: 'How many events are gathered, or parked; of those up to 10,000 a bucket are counted.',
      }),
    ),
    due_at: Type.Optional(Type.String({ format: 'date-time' })),
    under_way: Type.Optional(Type.Boolean({ description: 'A worker has it at this moment, or died with it.' })),
    reason_code: Type.Enum(['quiet_hours', 'fallback', 'replay', 'aggregated', 'event_rate']),
  },
  { title: 'Pending' },
)

/** GET /v1/pending */
export const listPending = describeOperation('pending.list', {
  querystring: PendingQuery,
  response: { 200: pageSchema(Pending) },
})

/** POST /v1/pending/{id}/release */
export const releasePending = describeOperation('pending.release', {
  params: PendingParams,
  response: { 200: Type.Object({ released: Type.Boolean() }) },
})

/** The parameters of `/v1/parked/{event}`. */
export const ParkedParams = Type.Object({
  event: Type.String({ minLength: 1, maxLength: 200, description: 'The event type.' }),
})

/** The body of POST /v1/parked/{event}/release. */
export const ParkedRelease = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000, description: 'How many at most.' }),
    ),
  },
  { additionalProperties: false },
)

/** POST /v1/parked/{event}/release */
export const releaseParked = describeOperation('parked.release', {
  params: ParkedParams,
  body: ParkedRelease,
  response: { 200: Type.Object({ released: Type.Integer() }) },
})

const QueueDepth = Type.Object(
  {
    channel: Type.Enum([...channels]),
    priority: Type.Enum([...priorities]),
    due: Type.Integer({ description: 'Due, and waiting for a worker.' }),
    later: Type.Integer({ description: 'To be tried again later.' }),
    leased: Type.Integer({ description: 'With a worker.' }),
    oldest_due_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Since when the first has been due.' }),
    ),
  },
  { title: 'QueueDepth' },
)

/** GET /v1/queue */
export const getQueue = describeOperation('queue.get', {
  response: {
    200: Type.Object({
      items: Type.Array(QueueDepth),
      complete: Type.Boolean({ description: 'False where the queue has more than the 100,000 rows that are counted.' }),
    }),
  },
})
