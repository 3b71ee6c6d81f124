import { type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import { idPattern } from '../model/id.ts'
import { hidden, maskTimeline } from '../model/masking.ts'
import type { NotificationRecord } from '../model/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import { operation } from '../request/operations.ts'
import type { Notifications } from '../store/store.ts'

const Detail = Type.Object({}, { additionalProperties: true })

const NotificationBody = Type.Object(
  {
    id: Type.String(),
    user_id: Type.String(),
    event: Type.String(),
    priority: Type.String(),
    dedup_key: Type.Optional(Type.String()),
    accepted_at: Type.String({ format: 'date-time' }),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'From when on nothing of it is sent any more' }),
    ),
    deliveries: Type.Array(
      Type.Object({
        id: Type.Optional(Type.String()),
        channel: Type.String(),
        outcome: Type.String(),
        state: Type.Optional(Type.String()),
        provider: Type.Optional(Type.String()),
        ended: Type.Optional(Type.String()),
      }),
    ),
    timeline: Type.Array(
      Type.Object({
        at: Type.String({ format: 'date-time' }),
        what: Type.String(),
        channel: Type.Optional(Type.String()),
        detail: Type.Optional(Detail),
      }),
    ),
  },
  { title: 'Notification' },
)

/** GET /v1/notifications/{id}: what became of a notification, and why. */
export function notificationEndpoint(http: Http, access: AccessControl, store: Notifications): void {
  http.get(
    '/v1/notifications/:id',
    {
      onRequest: access.allow('readOutcome'),
      schema: {
        tags: ['notifications'],
        ...operation('notifications.get'),
        security: access.security('readOutcome'),
        params: Type.Object({
          id: Type.String({ pattern: idPattern, description: 'A UUID that this API issued.' }),
        }),
        response: { 200: NotificationBody },
      },
    },
    async (request) => {
      const { id } = request.params as { id: string }
      const found = await store.find(id)
      if (!found || !access.canSee(request, found.userId)) throw new Problem(404, `There is no notification ${id}.`)
      return formatNotification(access.masks(request, found.userId) ? maskNotification(found) : found) as never
    },
  )
}

function maskNotification(record: NotificationRecord): NotificationRecord {
  const { dedupKey, timeline } = record
  return { ...record, ...(dedupKey === undefined ? {} : { dedupKey: hidden }), timeline: maskTimeline(timeline) }
}

function formatNotification({
  userId,
  acceptedAt,
  expiresAt,
  dedupKey,
  timeline,
  ...rest
}: NotificationRecord): Record<string, unknown> {
  return {
    ...rest,
    user_id: userId,
    accepted_at: new Date(acceptedAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    ...(dedupKey === undefined ? {} : { dedup_key: dedupKey }),
    timeline: timeline.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() })),
  }
}
