import { Type } from 'typebox'
import { channels } from '../model/channel.ts'
import { deliveryStates } from '../model/delivery/delivery-state.ts'
import { describeOperation } from '../request/route-options.ts'
import { ChangeRecord } from './page.ts'

/** A cursor: the number of a state change. */
export const cursorPattern = '^[0-9]{1,15}$'
const maxWaitSeconds = 30

/** The query of GET /v1/events. */
export const ChangeQuery = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({
        pattern: cursorPattern,
        description: 'The `next` of the previous page. Left out: the oldest event there is.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000, default: 100, description: 'The most events of a page.' }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxWaitSeconds,
        default: 0,
        description: 'Seconds to wait for an event when there is none.',
      }),
    ),
    event: Type.Optional(Type.String({ maxLength: 200, description: 'Only those of this event type.' })),
    state: Type.Optional(Type.Enum([...deliveryStates], { description: 'Only changes to this state.' })),
    channel: Type.Optional(Type.Enum([...channels], { description: 'Only those of this channel.' })),
  },
  { additionalProperties: false },
)

/** A page of state changes. */
export const Page = Type.Object({
  items: Type.Array(ChangeRecord),
  next: Type.String({ description: 'The cursor to read on with, whether there were events or not.' }),
  more: Type.Boolean({ description: 'Whether there is more to read at once.' }),
})

/** The header fields of GET /v1/events. */
export const ChangeHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'Of a stream that is resumed: the id of the last event. Wins over `cursor`.' }),
  ),
})

const response = {
  200: {
    description: 'A page, or with `Accept: text/event-stream` server-sent events until the token ends.',
    content: { 'application/json': { schema: Page }, 'text/event-stream': { schema: Type.String() } },
  },
}

/** GET /v1/events */
export const listChanges = describeOperation('events.read', {
  querystring: ChangeQuery,
  headers: ChangeHeaders,
  response: response as object,
})
