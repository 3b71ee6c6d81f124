import { type Clock, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { AccessControl, WatchCredential } from '../request/caller.ts'
import type { UserParams } from '../request/schemas.ts'
import type { StreamHeaders } from './schema.ts'
import type { InboxStreams } from './streams.ts'

/** What the stream of an inbox needs. */
export interface InboxStreamContext {
  readonly access: AccessControl
  readonly streams: InboxStreams
  readonly clock: Clock
  readonly watch: WatchCredential | undefined
}

const reconnectMs = 3_000

/** GET /v1/users/{id}/inbox/stream: the changes of a feed as they happen, as server-sent events (WHATWG HTML §9.2). */
export function streamItems({ access, streams, clock, watch }: InboxStreamContext) {
  return async (
    request: FastifyRequest<{ Params: Static<typeof UserParams>; Headers: Static<typeof StreamHeaders> }>,
    reply: FastifyReply,
  ) => {
    const caller = access.callerOf(request)
    const { expiresAt } = caller
    const userId = request.params.id
    const after = parseLastEventId(request.headers['last-event-id'])
    streams.admit(userId)
    const { raw } = reply
    reply.hijack()
    if (raw.destroyed) return
    writeHead(reply, request.id)
    const lifeMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.now()
    const masked = access.masks(request, userId)
    const end = streams.open({ userId, after, response: raw, lifeMs, masked })
    const stopWatching = watch?.(request, caller, end)
    raw.once('close', () => stopWatching?.())
  }
}

function writeHead(reply: FastifyReply, requestId: string): void {
  const { raw } = reply
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  })
  raw.write(`retry: ${reconnectMs}\n\n`)
}

/** The number that a reader resumes after. An EventSource that never received an id sends none. */
function parseLastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  const number = Number(header)
  if (typeof header === 'string' && /^\d{1,16}$/.test(header) && Number.isSafeInteger(number)) return number
  throw new Problem(400, 'Last-Event-ID must be the id of an event of this stream, or counts.sequence of the feed.')
}
