import type { Transaction } from '@gatehouse/kit'
import { channels } from '../../model/channel.ts'
import { deliveryIdOf, notificationIdOf } from '../../model/id.ts'
import type { Statement } from '../sql/at-once.ts'
import { among } from '../sql/plans.ts'

/**
 * Erases the data of those notifications of the deliveries that are sensitive and have nothing under way any more. Others
 * stay as they are. They are locked first: of two deliveries that end at once each would see the other one under way.
 */
export async function eraseSensitive(tx: Transaction, bucket: number, deliveryIds: readonly string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  const { rows } = await tx.query<{ id: string }>({
    name: 'notify_lock_sensitive',
    text: `SELECT id FROM notify.notification
            WHERE bucket = $1 AND ${among('id', '$2')} AND sensitive AND data IS NOT NULL ORDER BY id FOR UPDATE`,
    values: [bucket, [...new Set(deliveryIds.map(notificationIdOf))]],
  })
  for (const { id } of rows) await tx.query({ ...eraseWhenSpent(bucket, id), name: 'notify_erase_sensitive' })
}

/** The statements that do so, in the order of the notifications. */
export function erasedWhenSpent(bucket: number, notificationIds: readonly string[]): Statement[] {
  return notificationIds
    .toSorted()
    .flatMap((id) => [{ text: lockSensitive, values: [bucket, id] }, eraseWhenSpent(bucket, id)])
}

const lockSensitive = `
SELECT FROM notify.notification
 WHERE bucket = $1::smallint AND id = $2::uuid AND sensitive AND data IS NOT NULL FOR UPDATE`

/** What the notification still has under way is looked at row by row. */
function eraseWhenSpent(bucket: number, id: string): Statement {
  return {
    text: `UPDATE notify.notification n SET data = NULL
            WHERE n.bucket = $1::smallint AND n.id = $2::uuid AND n.sensitive AND n.data IS NOT NULL
              AND NOT EXISTS (SELECT FROM notify.delivery_queue w
                               WHERE w.bucket = $1::smallint AND w.delivery_id = ANY($3::uuid[]))
              AND NOT EXISTS (SELECT FROM notify.dead_letter l WHERE l.bucket = $1::smallint AND l.id = ANY($3::uuid[]))
              AND NOT EXISTS (SELECT FROM notify.deferred d
                               WHERE d.bucket = $1::smallint AND d.notification_id = $2::uuid)`,
    values: [bucket, id, channels.map((channel) => deliveryIdOf(id, channel))],
  }
}
