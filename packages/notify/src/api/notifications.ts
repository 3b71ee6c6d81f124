import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { hidden, maskTimeline } from '../model/masking.ts'
import type { NotificationRecord } from '../model/notification/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import type { Notifications } from '../store/store.ts'
import type { NotificationParams } from './schemas/notifications.ts'

/** What the endpoint of notifications needs. */
export interface NotificationContext {
  readonly access: AccessControl
  readonly store: Notifications
}

/** GET /v1/notifications/{id}: what became of a notification, and why. */
export function getNotification({ access, store }: NotificationContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof NotificationParams> }>) => {
    const { id } = request.params
    const found = await store.find(id)
    if (!found || !access.canSee(request, found.userId)) throw new Problem(404, `There is no notification ${id}.`)
    return formatNotification(access.masks(request, found.userId) ? maskNotification(found) : found) as never
  }
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
