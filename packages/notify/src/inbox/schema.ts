import { pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { InboxChange } from '../model/notification/inbox-change.ts'
import type { OperationId } from '../request/operations.ts'
import { describeOperation } from '../request/route-options.ts'
import { Id, IdCursor, UserParams } from '../request/schemas.ts'
import { CountsRecord, ItemRecord } from './record.ts'

/** The query of GET /v1/users/{id}/inbox. */
export const FeedQuery = Type.Object(
  {
    ...pageMembers(IdCursor),
    unread: Type.Optional(Type.Boolean({ default: false, description: 'Only what is not read' })),
    archived: Type.Optional(
      Type.Enum(['exclude', 'only', 'include'], { default: 'exclude', description: 'Whether archived items' }),
    ),
  },
  { additionalProperties: false },
)

const Feed = Type.Object({ ...pageSchema(ItemRecord).properties, counts: CountsRecord })

/** The items that a change is about. */
export const ItemSelection = Type.Union([
  Type.Object(
    { ids: Type.Array(Id, { minItems: 1, maxItems: 200, uniqueItems: true, description: 'These items' }) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      all: Type.Literal(true, { description: 'Every item that is not archived; of unarchived, every one that is' }),
      up_to: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Only those that had arrived when counts.sequence was this: what came meanwhile stays as it is',
        }),
      ),
    },
    { additionalProperties: false },
  ),
])

const Changed = Type.Object({ changed: Type.Integer({ description: 'How many items' }), counts: CountsRecord })

/** The header fields of GET /v1/users/{id}/inbox/stream. */
export const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'The id of the last event received, or counts.sequence of the feed.' }),
  ),
})

const stream = {
  description: 'Server-sent events, until the token ends.',
  content: { 'text/event-stream': { schema: Type.String() } },
}

/** GET /v1/users/{id}/inbox */
export const listItems = describeOperation('users.inbox.list', {
  params: UserParams,
  querystring: FeedQuery,
  response: { 200: Feed },
})

/** GET /v1/users/{id}/inbox/counts */
export const countItems = describeOperation('users.inbox.count', {
  params: UserParams,
  response: { 200: CountsRecord },
})

const changeOperations: Readonly<Record<InboxChange, OperationId>> = {
  seen: 'users.inbox.markSeen',
  read: 'users.inbox.markRead',
  unread: 'users.inbox.markUnread',
  archived: 'users.inbox.archive',
  unarchived: 'users.inbox.unarchive',
}

/** POST /v1/users/{id}/inbox/{change} */
export function changeItems(change: InboxChange) {
  const schema = { params: UserParams, body: ItemSelection, response: { 200: Changed } }
  return describeOperation(changeOperations[change], schema)
}

/** GET /v1/users/{id}/inbox/stream */
export const streamItems = describeOperation('users.inbox.stream', {
  description:
    'Events `change` ({items, counts}: the items as they are now) and `reset` ({counts}: too far behind, read the feed again). The id of an event is counts.sequence; send the one of the feed you have read as Last-Event-ID. Ends with the token.',
  params: UserParams,
  querystring: Type.Object({}, { additionalProperties: false }),
  headers: StreamHeaders,
  response: { 200: stream } as object,
})
