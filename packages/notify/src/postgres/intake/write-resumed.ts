import { type AdmissionDecision, type DeliveryDecision, detailOf } from '../../admission/admission.ts'
import { deliveryIdOf, newIdBeside } from '../../model/id.ts'
import { queries } from '../queries/index.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, optionalTimestamp } from '../sql/columns.ts'
import type { StreamOptions } from '../timeline/outbox.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'

/**
 * What became of notifications that were stored before (they woke, or their window was flushed): in their timelines what
 * was decided and the outcome of each channel, an end for the deliveries that will not be sent after all, and the address
 * of those that will.
 */
export function writeResumed(
  scope: BucketScope,
  decided: readonly AdmissionDecision[],
  now: number,
  { streaming }: StreamOptions,
): Statement[] {
  const resumed = decided.filter(({ notification }) => notification.stored !== 'no')
  const entries = resumed.flatMap((each) => entriesOf(each, now))
  if (entries.length === 0) return []
  return [...appendTimeline(scope, entries), ...changeDeliveries(scope, resumed, streaming ? now : undefined)]
}

/** Its deliveries are its own, also where one turned out to be the duplicate of another's. */
function entriesOf({ notification, deliveries }: AdmissionDecision, now: number): NewTimelineEntry[] {
  const { id: notificationId, decisions, sensitive } = notification
  const outcomes = deliveries.map((delivery) => {
    const detail = delivery.outcome === 'duplicate' ? {} : detailOf(delivery, sensitive)
    return { what: delivery.outcome, channel: delivery.channel, ...(Object.keys(detail).length > 0 ? { detail } : {}) }
  })
  return [...decisions, ...outcomes].map(({ what, channel, detail }) => ({
    notificationId,
    deliveryId: channel && deliveryIdOf(notificationId, channel),
    channel,
    at: now,
    entryType: what,
    detail,
  }))
}

const goesOn: ReadonlySet<string> = new Set(['queued', 'deferred'])

/** The address that a channel is sent to; of a push, which goes to several devices, none. */
export function addressOf({ channel, plan }: Pick<DeliveryDecision, 'channel' | 'plan'>): string | null {
  return plan.kind === 'send' && channel !== 'push' ? (plan.message.targets[0]?.address ?? null) : null
}

/**
 * Ends deliveries; tells the stream, as of `streamedAt` where there is one, of those that had expired when they woke. Those
 * that are sent were written before their address was known.
 */
function changeDeliveries(
  scope: BucketScope,
  resumed: readonly AdmissionDecision[],
  streamedAt: number | undefined,
): Statement[] {
  const changed = resumed.flatMap(({ notification: { id: notificationId, event, stored }, deliveries }) =>
    deliveries.flatMap((delivery) => {
      const { channel, outcome } = delivery
      const isSent = outcome === 'queued' && stored === 'deliveries'
      const address = isSent ? addressOf(delivery) : null
      if (goesOn.has(outcome) && address === null) return []
      return {
        id: deliveryIdOf(notificationId, channel),
        event,
        ended: goesOn.has(outcome) ? null : outcome === 'failed' ? 'dead_letter' : outcome,
        address,
        changedAt: outcome === 'expired' ? streamedAt : undefined,
      }
    }),
  )
  if (changed.length === 0) return []
  return [
    {
      text: textFor(scope, queries['intake/change-resumed']),
      values: [
        bucketsOfIds(scope, changed, ({ id }) => id),
        ...columns(
          changed,
          ({ id }) => id,
          ({ ended }) => ended,
          ({ address }) => address,
          ({ id }) => newIdBeside(id),
          ({ changedAt }) => optionalTimestamp(changedAt),
          (each) => each.event,
        ),
      ],
    },
  ]
}
