import { type Clock, defaultPageSize, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { channelOf, notificationIdOf } from '../model/id.ts'
import { maskTimeline } from '../model/masking.ts'
import type { DeliveryRecord, NotificationRecord } from '../model/notification/notification.ts'
import type { TimelineEntry } from '../model/notification/timeline.ts'
import type { AccessControl } from '../request/caller.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import type { Notifications, Search } from '../store/store.ts'
import { formatSearch, searchBounds } from './notifications.ts'
import type { DeliveryParams, DeliveryQuery } from './schemas/notifications.ts'

/** What the endpoints of deliveries need. */
export interface DeliveryContext {
  readonly access: AccessControl
  readonly notifications: Notifications
  readonly search: Search
  readonly slots: SearchSlots
  readonly clock: Clock
}

/** GET /v1/deliveries/{id}: one message on one channel, with its attempts. */
export function getDelivery(context: DeliveryContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof DeliveryParams> }>) => {
    const { id } = request.params
    const found = await readDelivery(context, request, id)
    if (!found) throw new Problem(404, `There is no delivery ${id}.`)
    return found as never
  }
}

/** GET /v1/deliveries?provider_message_id=…: those that a provider knows by its own id. */
export function listDeliveries(context: DeliveryContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof DeliveryQuery> }>) => {
    const { cursor, limit = defaultPageSize, provider, provider_message_id: providerMessageId } = request.query
    const message = { providerMessageId, ...(provider === undefined ? {} : { provider }) }
    const before = cursor === undefined ? {} : { before: cursor }
    const { search, slots } = context
    const page = await slots.run(async () => {
      const found = await search.deliveries(message, { ...searchBounds, limit, ...before })
      const items = []
      // One after the other: a search takes one connection at a time.
      for (const id of found.items) items.push(await readDelivery(context, request, id))
      return { ...found, items: items.filter((each) => each !== undefined) }
    })
    return formatSearch(page, (each) => each, context.clock.now()) as never
  }
}

async function readDelivery({ access, notifications }: DeliveryContext, request: FastifyRequest, id: string) {
  if (channelOf(id) === undefined) return undefined
  const notification = await notifications.find(notificationIdOf(id))
  const delivery = notification?.deliveries.find((each) => each.id === id)
  if (!notification || !delivery || !access.canSee(request, notification.userId)) return undefined
  const messageId = await notifications.findProviderMessageId(id)
  const attempts = attemptsOf(notification, delivery, access.masks(request, notification.userId))
  return { ...formatDelivery(notification, delivery, messageId), attempts }
}

function formatDelivery(
  { id, userId, event }: NotificationRecord,
  delivery: DeliveryRecord,
  providerMessageId: string | undefined,
) {
  return {
    ...delivery,
    notification_id: id,
    user_id: userId,
    event,
    ...(providerMessageId === undefined ? {} : { provider_message_id: providerMessageId }),
  }
}

function attemptsOf({ timeline }: NotificationRecord, { channel }: DeliveryRecord, masked: boolean) {
  const own = timeline.filter((entry) => entry.channel === channel)
  return (masked ? maskTimeline(own) : own).flatMap(attemptOf)
}

/** An attempt, where an entry is one: a delivery that waits for its providers is asked for without calling any. */
function attemptOf({ at, what, detail }: TimelineEntry) {
  const { attempt, results, reason }: Readonly<Record<string, unknown>> = { ...detail }
  if (typeof attempt !== 'number') return []
  return [
    {
      attempt,
      at: new Date(at).toISOString(),
      what,
      results: Array.isArray(results) ? results : [],
      ...(typeof reason === 'string' ? { reason } : {}),
    },
  ]
}
