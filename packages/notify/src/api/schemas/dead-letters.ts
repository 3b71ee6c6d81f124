import { pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id, IdCursor, NoContent } from '../../request/schemas.ts'
import { TimelineEntry } from './timeline.ts'

/** The parameters of `/v1/dead-letters/{id}`. */
export const DeadLetterParams = Type.Object({ id: Id })

const DeadLetter = Type.Object({
  id: Type.String(),
  notification_id: Type.Optional(Type.String()),
  user_id: Type.Optional(Type.String()),
  channel: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  cause: Type.String(),
  detail: Type.String(),
  died_at: Type.String({ format: 'date-time' }),
  expires_at: Type.Optional(Type.String({ format: 'date-time', description: "From when on it can't be replayed" })),
  text: Type.Optional(Type.String({ description: 'What an invalid message of the topic said' })),
  timeline: Type.Optional(Type.Array(TimelineEntry)),
})

const Replayed = Type.Object({
  replayed: Type.Integer({ description: 'How many went back to be delivered.' }),
  expired: Type.Optional(
    Type.Integer({ description: 'How many that were meant stay, since their message will have expired.' }),
  ),
})

const filters = {
  cause: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'template, permanent, attempts_exhausted, unregistered, worker_died, …',
    }),
  ),
  channel: Type.Optional(Type.Enum([...channels], { description: 'Only those of this channel.' })),
  event: Type.Optional(Type.String({ maxLength: 200, description: 'Only those of this event type.' })),
  user_id: Type.Optional(Type.String({ maxLength: 256, description: 'Only those to this user.' })),
}

/** The query of GET /v1/dead-letters. */
export const DeadLetterQuery = Type.Object({ ...filters, ...pageMembers(IdCursor) }, { additionalProperties: false })

/** A selection of dead letters: by filters, by ids, or both. */
export const Selection = Type.Object(
  {
    ...filters,
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1_000 })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000, description: 'How many at most.' }),
    ),
  },
  { additionalProperties: false },
)

/** The body of POST /v1/dead-letters/replay. */
export const ReplaySelection = Type.Object(
  { ...Selection.properties, at: Type.Optional(Type.String({ format: 'date-time' })) },
  { additionalProperties: false },
)

/** GET /v1/dead-letters */
export const listDeadLetters = describeOperation('deadLetters.list', {
  querystring: DeadLetterQuery,
  response: { 200: pageSchema(DeadLetter) },
})

/** GET /v1/dead-letters/{id} */
export const getDeadLetter = describeOperation('deadLetters.get', {
  params: DeadLetterParams,
  response: { 200: DeadLetter },
})

/** POST /v1/dead-letters/replay */
export const replayDeadLetters = describeOperation('deadLetters.replayMany', {
  body: ReplaySelection,
  response: { 200: Replayed },
})

/** POST /v1/dead-letters/{id}/replay */
export const replayDeadLetter = describeOperation('deadLetters.replay', {
  params: DeadLetterParams,
  response: { 200: Type.Object({ replayed: Type.Integer() }) },
})

/** POST /v1/dead-letters/discard */
export const discardDeadLetters = describeOperation('deadLetters.discardMany', {
  body: Selection,
  response: { 200: Type.Object({ discarded: Type.Integer() }) },
})

/** DELETE /v1/dead-letters/{id} */
export const discardDeadLetter = describeOperation('deadLetters.discard', {
  params: DeadLetterParams,
  response: { 204: NoContent },
})
