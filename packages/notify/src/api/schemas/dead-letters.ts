import { pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id, IdCursor, NoContent } from '../../request/schemas.ts'
import { deadLetterGroupings } from '../../store/store.ts'
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
  fingerprint: Type.String({ description: 'The same for letters that died of the same.' }),
  provider: Type.Optional(Type.String({ description: 'The provider whose answer it was.' })),
  died_at: Type.String({ format: 'date-time' }),
  expires_at: Type.Optional(Type.String({ format: 'date-time', description: "From when on it can't be replayed" })),
  text: Type.Optional(Type.String({ description: 'What an invalid message of the topic said' })),
  timeline: Type.Optional(Type.Array(TimelineEntry)),
})

const matched = Type.Integer({ description: 'Of a dry run: how many the filters match, up to `limit`.' })

const Replayed = Type.Object({
  matched: Type.Optional(matched),
  replayed: Type.Integer({ description: 'How many went back to be delivered; 0 of a dry run.' }),
  expired: Type.Optional(
    Type.Integer({ description: 'How many that were meant stay, since their message will have expired.' }),
  ),
  batch_id: Type.Optional(Id),
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
  provider: Type.Optional(
    Type.String({ maxLength: 100, description: 'Only those that died of an answer of this provider.' }),
  ),
  fingerprint: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{16}$',
      description: 'Only those that died of the same, as their `fingerprint` says.',
    }),
  ),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Died then or later.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Died before then.' })),
}

/** The query of GET /v1/dead-letters. */
export const DeadLetterQuery = Type.Object({ ...filters, ...pageMembers(IdCursor) }, { additionalProperties: false })

/** Of a call that changes many. */
const dryRun = Type.Optional(
  Type.Boolean({
    description: 'Changes nothing, and answers how many are `matched`, and of those how many `expired`.',
  }),
)

/** A selection of dead letters: by filters, by ids, or both. */
export const Selection = Type.Object(
  {
    ...filters,
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1_000 })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000, description: 'How many at most.' }),
    ),
    dry_run: dryRun,
  },
  { additionalProperties: false },
)

/** The body of POST /v1/dead-letters/replay. */
export const ReplaySelection = Type.Object(
  {
    ...Selection.properties,
    at: Type.Optional(Type.String({ format: 'date-time' })),
    rate_per_second: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000,
        description: 'So many become due each second, from `at` on.',
      }),
    ),
  },
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
  response: { 200: Type.Object({ matched: Type.Optional(matched), discarded: Type.Integer() }) },
})

/** DELETE /v1/dead-letters/{id} */
export const discardDeadLetter = describeOperation('deadLetters.discard', {
  params: DeadLetterParams,
  response: { 204: NoContent },
})

/** The query of GET /v1/dead-letters/summary. */
export const SummaryQuery = Type.Object(
  {
    group_by: Type.Enum([...deadLetterGroupings], { description: 'What those of a group have in common.' }),
    ...filters,
  },
  { additionalProperties: false },
)

const DeadLetterSummary = Type.Object(
  {
    groups: Type.Array(
      Type.Object({
        key: Type.Optional(Type.String({ description: 'Left out of the letters that have none.' })),
        count: Type.Integer(),
        first_at: Type.String({ format: 'date-time' }),
        last_at: Type.String({ format: 'date-time' }),
        sample: Type.Object(
          { id: Type.String(), cause: Type.String(), detail: Type.String() },
          { description: 'The last of them.' },
        ),
        trend: Type.Array(Type.Integer(), { description: 'How many died in each span of `trend`, the oldest first.' }),
      }),
      { description: 'The largest first.' },
    ),
    trend: Type.Object(
      { from: Type.String({ format: 'date-time' }), to: Type.String({ format: 'date-time' }) },
      {
        description:
          'The time that the trends are about, in spans of equal length: that of the filters, or the last 24 hours.',
      },
    ),
    total: Type.Integer({ description: 'How many letters were looked at.' }),
    complete: Type.Boolean({
      description: 'False where there are more than are looked at: of 20,000 the oldest are left out.',
    }),
  },
  { title: 'DeadLetterSummary' },
)

/** GET /v1/dead-letters/summary */
export const summarizeDeadLetters = describeOperation('deadLetters.summary.get', {
  querystring: SummaryQuery,
  response: { 200: DeadLetterSummary },
})

/** The parameters of `/v1/replays/{batch_id}`. */
export const ReplayParams = Type.Object({ batch_id: Id })

const ReplayProgress = Type.Object(
  {
    batch_id: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    total: Type.Integer(),
    sent: Type.Integer(),
    waiting: Type.Integer(),
    dead: Type.Integer({ description: 'Dead letters again.' }),
    stopped_at: Type.Optional(Type.String({ format: 'date-time', description: 'When it was stopped.' })),
    first: Type.Array(
      Type.Object({
        id: Type.String(),
        notification_id: Type.Optional(Type.String()),
        status: Type.Enum(['sent', 'waiting', 'dead', 'gone'], {
          description: '`gone`: it has ended, or its scheduled event was accepted.',
        }),
      }),
      { description: 'The first ten, by their ids.' },
    ),
  },
  { title: 'ReplayProgress' },
)

/** GET /v1/replays/{batch_id} */
export const getReplay = describeOperation('replays.get', { params: ReplayParams, response: { 200: ReplayProgress } })

/** POST /v1/replays/{batch_id}/stop */
export const stopReplay = describeOperation('replays.stop', {
  params: ReplayParams,
  response: { 200: Type.Object({ stopped: Type.Integer({ description: 'How many are dead letters again.' }) }) },
})
