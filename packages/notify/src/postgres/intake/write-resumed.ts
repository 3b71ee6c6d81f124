import { type AdmissionDecision, detailOf } from '../../admission/admission.ts'
import { deliveryIdOf, newIdBeside } from '../../model/id.ts'
import { queries } from '../queries/index.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, optionalTimestamp } from '../sql/columns.ts'
import type { StreamOptions } from '../timeline/outbox.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'

/**
 * What became of notifications that were stored before (they woke, or their window was flushed): in their timelines what
 * was decided and the outcome of each channel, and an end for the deliveries that will not be sent after all.
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
  return [...appendTimeline(scope, entries), ...endDeliveries(scope, resumed, streaming ? now : undefined)]
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

/** Ends deliveries; tells the stream, as of `streamedAt` where there is one, of those that had expired when they woke. */
function endDeliveries(
  scope: BucketScope,
  resumed: readonly AdmissionDecision[],
  streamedAt: number | undefined,
): Statement[] {
  const ended = resumed.flatMap(({ notification: { id: notificationId, event }, deliveries }) =>
    deliveries
      .filter(({ outcome }) => !goesOn.has(outcome))
      .map(({ channel, outcome }) => {
        const id = deliveryIdOf(notificationId, channel)
        return {
          id,
          event,
          ended: outcome === 'failed' ? 'dead_letter' : outcome,
          changedAt: outcome === 'expired' ? streamedAt : undefined,
        }
      }),
  )
  if (ended.length === 0) return []
  return [
    {
      text: textFor(scope, queries['intake/end-deliveries']),
      values: [
        bucketsOfIds(scope, ended, ({ id }) => id),
        ...columns(
          ended,
          ({ id }) => id,
          (each) => each.ended,
          ({ id }) => newIdBeside(id),
          ({ changedAt }) => optionalTimestamp(changedAt),
          (each) => each.event,
        ),
      ],
    },
  ]
}
