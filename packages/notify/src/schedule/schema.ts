import { IfMatchHeaders, pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { idPattern } from '../model/id.ts'
import { NotifyBody } from '../request/notify-body.ts'
import { describeOperation } from '../request/route-options.ts'
import { Id, NoContent, UserId } from '../request/schemas.ts'

const FireAt = Type.String({
  format: 'date-time',
  description: 'When it fires, RFC 3339',
  examples: ['2026-12-24T18:00:00Z'],
})

/** The parameters of `/v1/scheduled/{id}`. */
export const ScheduledParams = Type.Object({ id: Id })

const Scheduled = Type.Object(
  {
    id: Type.String(),
    fire_at: FireAt,
    payload: Type.Object({}, { additionalProperties: true }),
    failures: Type.Integer({ description: 'How often it was due and could not be accepted, by its own fault.' }),
    under_way: Type.Boolean({ description: 'A worker has it at this moment, or died with it.' }),
  },
  { title: 'Scheduled' },
)

/** The body of POST /v1/scheduled. */
export const NewScheduled = Type.Object({ fire_at: FireAt, payload: NotifyBody }, { additionalProperties: false })

/** When the last item of the previous page fires, and its id. */
const Cursor = Type.String({
  pattern: `^[0-9TZ:.-]{20,30}_${idPattern.slice(1)}`,
  description: 'The `next` of the previous page.',
})

/** The query of GET /v1/scheduled. */
export const ScheduledQuery = Type.Object(
  {
    user_id: Type.Optional(UserId),
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Fires then or later.' })),
    to: Type.Optional(Type.String({ format: 'date-time', description: 'Fires before then.' })),
    event: Type.Optional(Type.String({ maxLength: 200, description: 'Only of this event type.' })),
    ...pageMembers(Cursor),
  },
  { additionalProperties: false },
)

/** The body of PATCH /v1/scheduled/{id}. */
export const ScheduledMove = Type.Object({ fire_at: FireAt }, { additionalProperties: false })

/** PATCH /v1/scheduled/{id} */
export const moveScheduled = describeOperation('scheduled.move', {
  params: ScheduledParams,
  headers: IfMatchHeaders,
  body: ScheduledMove,
  response: { 200: Scheduled },
})

/** POST /v1/scheduled */
export const createScheduled = describeOperation('scheduled.create', {
  body: NewScheduled,
  response: { 201: Scheduled },
})

/** GET /v1/scheduled */
export const listScheduled = describeOperation('scheduled.list', {
  querystring: ScheduledQuery,
  response: { 200: pageSchema(Scheduled) },
})

/** GET /v1/scheduled/{id} */
export const getScheduled = describeOperation('scheduled.get', {
  params: ScheduledParams,
  response: { 200: Scheduled },
})

/** DELETE /v1/scheduled/{id} */
export const cancelScheduled = describeOperation('scheduled.cancel', {
  params: ScheduledParams,
  response: { 204: NoContent },
})
