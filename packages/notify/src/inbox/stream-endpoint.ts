import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { AccessControl, WatchCredential } from '../request/caller.ts'
import { operation } from '../request/operations.ts'
import type { InboxStreams } from './streams.ts'

export interface StreamRoutes {
  readonly access: AccessControl
  readonly streams: InboxStreams
  readonly clock: Clock
  readonly watch: WatchCredential | undefined
}

const reconnectMs = 3_000
const LastEventId = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'The id of the last event received, or counts.sequence of the feed.' }),
  ),
})
const stream = {
  description: 'Server-sent events, until the token ends.',
  content: { 'text/event-stream': { schema: Type.String() } },
}

/** GET /v1/users/{id}/inbox/stream: what changes in a feed, as it changes. */
export function inboxStreamEndpoint(http: Http, { access, streams, clock, watch }: StreamRoutes): void {
  http.addHook('preClose', () => streams.close())
  http.get(
    '/v1/users/:id/inbox/stream',
    {
      exposeHeadRoute: false,
      onRequest: access.allowUnder('readFeed'),
      schema: {
        tags: ['inbox'],
        ...operation('inbox.stream'),
        description:
          'Events `change` ({items, counts}: the items as they are now) and `reset` ({counts}: too far behind, read the feed again). The id of an event is counts.sequence; send the one of the feed you have read as Last-Event-ID. Ends with the token.',
        security: access.security('readFeed'),
        params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) }),
        querystring: Type.Object({}, { additionalProperties: false }),
        headers: LastEventId,
        response: { 200: stream } as object,
      },
    },
    async (request, reply) => {
      const { expiresAt } = access.callerOf(request)
      const userId = request.params.id
      const after = lastEventId(request.headers['last-event-id'])
      streams.admit(userId)
      const { raw } = reply
      reply.hijack()
      if (raw.destroyed) return
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) raw.setHeader(name, value)
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        'x-request-id': request.id,
      })
      raw.write(`retry: ${reconnectMs}\n\n`)
      const lifeMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.now()
      const masked = access.masks(request, userId)
      const end = streams.open({ userId, after, response: raw, lifeMs, masked })
      const stopWatching = watch?.(request, expiresAt, end)
      raw.once('close', () => stopWatching?.())
    },
  )
}

/** The number a reader resumes after. An EventSource that never saw an id sends none. */
function lastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  const number = Number(header)
  if (typeof header === 'string' && /^\d{1,16}$/.test(header) && Number.isSafeInteger(number)) return number
  throw new Problem(400, 'Last-Event-ID must be the id of an event of this stream, or counts.sequence of the feed.')
}
