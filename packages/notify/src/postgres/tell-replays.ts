import type { Transaction } from '@gatehouse/kit'
import type { Decided } from '../admission.ts'
import { newId } from '../ids.ts'
import { columns, timestamp } from './words.ts'

/**
 * Tells in the timeline of a notification that its event came again and was a duplicate on every channel: the first time,
 * so that a replay of everything adds no more than that. Its caller holds the lock on the users.
 */
export async function tellReplays(
  tx: Transaction,
  bucket: number,
  decided: readonly Decided[],
  now: number,
): Promise<void> {
  const replays = decided.filter(
    ({ notification, answerId }) => notification.stored === 'no' && answerId !== notification.id,
  )
  if (replays.length === 0) return
  const first = [...new Map(replays.toReversed().map((each) => [each.answerId, each])).values()]
  await tx.query({
    name: 'notify_tell_replays',
    text: `INSERT INTO notify.delivery_event (bucket, notification_id, id, at, what, detail)
           SELECT $1, r.notification_id, r.id, $5, 'duplicate', r.detail::json
             FROM unnest($2::uuid[], $3::uuid[], $4::text[]) AS r (notification_id, id, detail)
            WHERE (SELECT count(*) FROM notify.notification n WHERE n.bucket = $1 AND n.id = r.notification_id) > 0
              AND (SELECT count(*) FROM notify.delivery_event e
                    WHERE e.bucket = $1 AND e.notification_id = r.notification_id AND e.what = 'duplicate'
                      AND e.channel IS NULL) = 0`,
    values: [
      bucket,
      ...columns(
        first,
        ({ answerId }) => answerId,
        () => newId(bucket),
        ({ notification: { decisions } }) => JSON.stringify({ source: decisions[0]?.detail?.source }),
      ),
      timestamp(now),
    ],
  })
}
