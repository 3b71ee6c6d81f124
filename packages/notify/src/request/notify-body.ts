import { Type } from 'typebox'
import { channels } from '../model/channel.ts'
import { outcomes } from '../model/delivery/outcome.ts'

/** The most that an event may take as JSON, whichever way it comes. */
export const maxEventBytes = 64 * 1024

/** The notify request, letter by letter as specified. */
export const NotifyBody = Type.Object(
  {
    event: Type.String({ minLength: 1, maxLength: 200, description: 'Event type name', examples: ['order.shipped'] }),
    user_id: Type.String({ minLength: 1, maxLength: 256, description: 'Target user', examples: ['alice'] }),
    data: Type.Object(
      {},
      { additionalProperties: true, description: 'Variables for the template', examples: [{ order_id: 'A-1' }] },
    ),
    channels: Type.Optional(
      Type.Array(Type.Enum([...channels]), {
        uniqueItems: true,
        description: 'Overrides the channels that the preferences would give',
      }),
    ),
    dedup_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description: 'Prevents a second notification when the event is replayed',
      }),
    ),
  },
  { title: 'NotifyRequest', additionalProperties: false },
)

/** The answer to an accepted event. */
export const AcceptanceBody = Type.Object(
  {
    id: Type.String(),
    deliveries: Type.Array(
      Type.Object({ id: Type.Optional(Type.String()), channel: Type.String(), outcome: Type.Enum([...outcomes]) }),
    ),
  },
  { title: 'Acceptance' },
)
