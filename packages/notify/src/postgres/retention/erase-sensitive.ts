import type { Transaction } from '@gatehouse/kit'
import { channels } from '../../model/channel.ts'
import { bucketOfId, deliveryIdOf, notificationIdOf } from '../../model/id.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'

/**
 * Erases the data of those notifications of the deliveries that are sensitive and have nothing under way any more. Others
 * stay as they are. They are locked first: of two deliveries that end at once each would see the other one under way.
 */
export async function eraseSensitive(
  tx: Transaction,
  scope: BucketScope,
  deliveryIds: readonly string[],
): Promise<void> {
  if (deliveryIds.length === 0) return
  const ids = [...new Set(deliveryIds.map(notificationIdOf))].sort()
  const { rows } = await tx.query<{ id: string }>({
    name: nameFor(scope, 'notify_lock_sensitive'),
    text: textFor(
      scope,
      `SELECT r.id FROM unnest($1::smallint[], $2::uuid[]) WITH ORDINALITY AS r (bucket, id, place)
        CROSS JOIN LATERAL (
          SELECT FROM notify.notification n
           WHERE n.bucket = r.bucket AND n.id = r.id AND n.sensitive AND n.data IS NOT NULL LIMIT 1 FOR UPDATE) AS found
        ORDER BY r.place`,
    ),
    values: [bucketsOfIds(scope, ids, (id) => id), ids],
  })
  for (const { id } of rows) await tx.query({ ...eraseWhenSpent(scope, id), name: 'notify_erase_sensitive' })
}

const lockSensitive = `
SELECT FROM notify.notification
 WHERE bucket = $1::smallint AND id = $2::uuid AND sensitive AND data IS NOT NULL FOR UPDATE`

/** The statements that do so, in the order of the notifications. */
export function erasedWhenSpent(scope: BucketScope, notificationIds: readonly string[]): Statement[] {
  return notificationIds
    .toSorted()
    .flatMap((id) => [{ text: lockSensitive, values: [bucketOf(scope, id), id] }, eraseWhenSpent(scope, id)])
}

/** What the notification still has under way is looked at row by row. */
function eraseWhenSpent(scope: BucketScope, id: string): Statement {
  return {
    text: `UPDATE notify.notification n SET data = NULL
            WHERE n.bucket = $1::smallint AND n.id = $2::uuid AND n.sensitive AND n.data IS NOT NULL
              AND NOT EXISTS (SELECT FROM notify.delivery_queue w
                               WHERE w.bucket = $1::smallint AND w.delivery_id = ANY($3::uuid[]))
              AND NOT EXISTS (SELECT FROM notify.dead_letter l WHERE l.bucket = $1::smallint AND l.id = ANY($3::uuid[]))
              AND NOT EXISTS (SELECT FROM notify.deferred d
                               WHERE d.bucket = $1::smallint AND d.notification_id = $2::uuid)`,
    values: [bucketOf(scope, id), id, channels.map((channel) => deliveryIdOf(id, channel))],
  }
}

const bucketOf = ({ count, bucket }: BucketScope, id: string) => bucket ?? bucketOfId(id, count)
