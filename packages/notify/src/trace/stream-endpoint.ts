import { type Clock, type Log, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { idPattern } from '../model/id.ts'
import type { AccessControl, WatchCredential } from '../request/caller.ts'
import { beginStream } from '../request/event-stream.ts'
import type { Notifications } from '../store/store.ts'
import { followNotification } from './follow.ts'
import type { StreamHeaders, TraceParams } from './schemas/notifications.ts'
import type { NotificationStreams } from './streams.ts'

/** What the stream of a notification needs. */
export interface NotificationStreamContext {
  readonly access: AccessControl
  readonly notifications: Notifications
  readonly notificationStreams: NotificationStreams
  readonly clock: Clock
  readonly log: Log
  readonly watch: WatchCredential | undefined
}

type StreamRequest = FastifyRequest<{ Params: Static<typeof TraceParams>; Headers: Static<typeof StreamHeaders> }>

/** GET /v1/notifications/{id}/stream: its timeline and deliveries as they change, as server-sent events (WHATWG HTML §9.2). */
export function streamNotification(context: NotificationStreamContext) {
  const { access, notifications, notificationStreams: streams, watch, clock, log } = context
  return async (request: StreamRequest, reply: FastifyReply) => {
    const { id } = request.params
    const after = parseLastEventId(request.headers['last-event-id'])
    const caller = access.callerOf(request)
    const { subject, expiresAt } = caller
    streams.admit(subject)
    const found = await notifications.find(id)
    if (!found || !access.canSee(request, found.userId)) throw new Problem(404, `There is no notification ${id}.`)
    streams.admit(subject)
    const { raw } = reply
    reply.hijack()
    if (raw.destroyed) return
    beginStream(raw, reply.getHeaders(), request.id)
    const ending = new AbortController()
    const end = () => ending.abort()
    streams.closing.addEventListener('abort', end)
    const lifeMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.now()
    const life = setTimeout(end, Math.max(0, Math.min(lifeMs, streams.rules.maxLifeMs)))
    const stopWatching = watch?.(request, caller, end)
    const masked = access.masks(request, found.userId)
    const following = followNotification(
      { notifications, id, after, masked, response: raw, rules: streams.rules, log },
      ending,
    )
    const stream = following.finally(() => {
      clearTimeout(life)
      streams.closing.removeEventListener('abort', end)
      stopWatching?.()
    })
    streams.keep(subject, stream)
  }
}

const eventId = new RegExp(`${idPattern.slice(0, -1)}(?:/\\d{1,4})?$`)

/** The id of an entry that a reader resumes after. An EventSource that never received an id sends none. */
function parseLastEventId(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined
  if (eventId.test(header)) return header
  throw new Problem(400, 'Last-Event-ID must be the id of an event of this stream.')
}
