import type { AdmissionDecision } from '../../admission/admission.ts'
import { newIdBeside } from '../../model/id.ts'
import type { TimelineEntry } from '../../model/notification/timeline.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'

/**
 * Tells in the timeline of a notification that its event came again and was a duplicate on every channel: the first time,
 * so that a replay of everything adds no more than that. Its caller holds the lock on the users.
 */
export function appendDuplicates(scope: BucketScope, decided: readonly AdmissionDecision[], now: number): Statement[] {
  const replays = decided.filter(
    ({ notification, answerId }) => notification.stored === 'no' && answerId !== notification.id,
  )
  if (replays.length === 0) return []
  const first = [...new Map(replays.toReversed().map((each) => [each.answerId, each])).values()]
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.timeline_entry (bucket, notification_id, id, at, entry_type, detail)
         SELECT r.bucket, r.notification_id, r.id, $5::timestamptz, 'duplicate', r.detail::json
           FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[]) AS r (bucket, notification_id, id, detail)
          WHERE (SELECT count(*) FROM notify.notification n WHERE n.bucket = r.bucket AND n.id = r.notification_id) > 0
            AND (SELECT count(*) FROM notify.timeline_entry e
                  WHERE e.bucket = r.bucket AND e.notification_id = r.notification_id AND e.entry_type = 'duplicate'
                    AND e.channel IS NULL) = 0`,
      ),
      values: [
        bucketsOfIds(scope, first, ({ answerId }) => answerId),
        ...columns(
          first,
          ({ answerId }) => answerId,
          ({ answerId }) => newIdBeside(answerId),
          ({ notification: { decisions } }) => JSON.stringify({ source: sourceOf(decisions) }),
        ),
        timestamp(now),
      ],
    },
  ]
}

/** How the event came in. */
function sourceOf([first]: readonly TimelineEntry[]): string | undefined {
  return first?.what === 'accepted' ? first.detail?.source : undefined
}
