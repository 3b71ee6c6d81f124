import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Guards } from '../caller.ts'
import { channels } from '../channel.ts'
import { problemIfEmpty } from '../empty-channels.ts'
import type { NotifyRequest } from '../notification.ts'
import type { Accept } from './accept.ts'

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
  { additionalProperties: false },
)

const outcomes = ['queued', 'duplicate', 'capped', 'deferred', 'aggregated', 'no_recipient', 'undeliverable', 'failed']

/** The answer to an accepted event. */
export const AcceptanceBody = Type.Object({
  id: Type.String(),
  deliveries: Type.Array(
    Type.Object({ id: Type.Optional(Type.String()), channel: Type.String(), outcome: Type.Enum(outcomes) }),
  ),
})

const bodyLimitBytes = 64 * 1024

/** POST /v1/notify: 202 once the event is committed, whatever became of its channels. */
export function notifyEndpoint(http: Http, guards: Guards, accept: Accept): void {
  http.post(
    '/v1/notify',
    {
      bodyLimit: bodyLimitBytes,
      onRequest: guards.write,
      schema: {
        tags: ['notifications'],
        summary: 'Tell of an event; its user is notified',
        security: [{ bearer: [guards.scopes.write] }],
        body: NotifyBody,
        response: { 202: AcceptanceBody },
      },
    },
    async (request, reply) => {
      const body = request.body as NotifyRequest
      problemIfEmpty(body.channels)
      const result = await accept.one({ request: body, source: 'http' })
      if ('refused' in result) throw result.refused
      if ('gone' in result) throw new Error('an event that settles nothing can not be gone')
      return reply.code(202).send(result.accepted as never)
    },
  )
}
