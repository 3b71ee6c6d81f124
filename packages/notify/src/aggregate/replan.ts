import type { AdmissionUnit, DeliveryPlan, PlannedDelivery } from '../admission/planned.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { composeDedupKey } from '../model/notification/dedup-key.ts'
import { createReason } from '../model/notification/reason.ts'
import type { TimelineEntry } from '../model/notification/timeline.ts'
import { dataAlone } from '../plan/aggregate-data.ts'
import { channelPlanner } from '../plan/channel-plan.ts'
import { chooseChannels, isExcluded } from '../plan/channels.ts'
import type { DueDeferred, Profile, StoredNotification } from '../store/store.ts'

/** What a deferred delivery is planned from. */
export interface ReplanInput {
  readonly deferred: DueDeferred
  readonly profile: Profile
  readonly catalog: Catalog
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Plans a deferred delivery again: preferences and quiet hours are evaluated and the text is rendered anew. A fallback
 * enters no channel that a stored preference excludes, nor one whose dedup key another notification used meanwhile; it and
 * a replay count against no cap.
 */
export function planAgain(input: ReplanInput, options: NotifyOptions): AdmissionUnit {
  const { deferred, catalog } = input
  const { notification, reason, letter } = deferred
  const eventType = catalog.eventTypes.get(notification.event)
  const decisions: TimelineEntry[] = []
  const plan = planFor(input, options, decisions)
  const deliveries = deferred.channels.map((channel): PlannedDelivery => {
    const key = reason === 'fallback' ? notification.dedupKey : undefined
    const logKey = key && composeDedupKey(notification.event, key, notification.userId, channel)
    return { channel, plan: plan(channel), ...(logKey === undefined ? {} : { logKey }) }
  })
  return {
    settles: { kind: 'deferred', id: deferred.id },
    notifications: [
      {
        id: notification.id,
        userId: notification.userId,
        event: notification.event,
        data: {},
        priority: eventType?.priority ?? 'normal',
        acceptedAt: notification.acceptedAt,
        ...(notification.expiresAt === undefined ? {} : { expiresAt: notification.expiresAt }),
        sensitive: notification.sensitive,
        decisions,
        deliveries,
        stored: 'deliveries',
        ...(reason === 'quiet_hours' ? {} : { free: reason }),
        ...(letter === undefined ? {} : { letter }),
      },
    ],
  }
}

function planFor(
  { deferred: { notification, reason }, profile, catalog, now }: ReplanInput,
  options: NotifyOptions,
  decisions: TimelineEntry[],
): (channel: Channel) => DeliveryPlan {
  const { id, acceptedAt: at, userId, expiresAt } = notification
  const eventType = catalog.eventTypes.get(notification.event)
  if (!eventType) return () => ({ kind: 'exclude', reason: createReason('event_type_removed') })
  // The address came with the mail, and a stored one never takes its place.
  if (catalog.isReserved(notification.event))
    return () => ({ kind: 'exclude', reason: createReason('event_type_reserved') })
  if (!notification.data) return () => ({ kind: 'exclude', reason: createReason('data_erased') })
  const data = dataAlone({ id, at, data: notification.data }, eventType)
  const plan = channelPlanner({ userId, data, eventType, profile, catalog, now, expiresAt }, options, decisions)
  const excludes = exclusion(notification, reason, profile, chooseChannels(undefined, eventType, profile).channels)
  return (channel) => (excludes(channel) ? { kind: 'exclude', reason: createReason('preference') } : plan(channel))
}

function exclusion(
  notification: StoredNotification,
  reason: DueDeferred['reason'],
  profile: Profile,
  preferred: readonly Channel[],
): (channel: Channel) => boolean {
  if (reason === 'replay') return () => false
  if (reason === 'fallback') return (channel) => isExcluded(channel, notification.event, profile)
  return (channel) => !notification.requested?.includes(channel) && !preferred.includes(channel)
}
