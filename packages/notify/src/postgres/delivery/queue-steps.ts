import type { Query } from '@gatehouse/kit'
import type { AttemptRecord } from '../../store/store.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, documents, timestamp } from '../sql/columns.ts'
import { keyOf } from '../sql/plans.ts'

const deliveryId = ({ claimed }: AttemptRecord) => claimed.deliveryId
const attempt = ({ claimed }: AttemptRecord) => claimed.attempt

/**
 * The statement that takes deliveries off the queue; it returns their ids. The attempt number of one that was replayed goes
 * on from the claims before: the lease, which a replay begins without, leaves out a step of then that is recorded again.
 */
export function removeFromQueue(scope: BucketScope, records: readonly AttemptRecord[]): Query & Statement {
  return {
    name: nameFor(scope, 'notify_remove_from_queue'),
    text: textFor(
      scope,
      `DELETE FROM notify.delivery_queue w
        USING unnest($1::smallint[], $2::uuid[], $3::integer[]) AS d (bucket, delivery_id, attempt)
        WHERE ${keyOf('w', 'd', 'delivery_id')} AND w.attempt = d.attempt
          AND w.lease_until IS NOT NULL
    RETURNING w.delivery_id`,
    ),
    values: [bucketsOfIds(scope, records, deliveryId), ...columns(records, deliveryId, attempt)],
  }
}

/**
 * The statement that puts deliveries back into the queue; it returns their ids. A step may be recorded again where it was
 * not known whether it had been; the lease, which the first time ends and only a claim begins, leaves the second out.
 */
export function returnToQueue(scope: BucketScope, records: readonly AttemptRecord[]): Query & Statement {
  const waiting = records.flatMap((r) => (r.next.kind === 'again' ? [{ ...r, next: r.next }] : []))
  return {
    name: nameFor(scope, 'notify_return_to_queue'),
    text: textFor(
      scope,
      `UPDATE notify.delivery_queue w
          SET due_at = r.due_at, lease_until = NULL, failures = r.failures, crashes = r.crashes,
              message = r.message
         FROM ROWS FROM (
                unnest($1::smallint[], $2::uuid[], $3::integer[], $4::timestamptz[], $5::integer[], $7::integer[]),
                json_array_elements($6::json))
              AS r (bucket, delivery_id, attempt, due_at, failures, crashes, message)
        WHERE ${keyOf('w', 'r', 'delivery_id')} AND w.attempt = r.attempt
          AND w.lease_until IS NOT NULL
    RETURNING w.delivery_id`,
    ),
    values: [
      bucketsOfIds(scope, waiting, deliveryId),
      ...columns(
        waiting,
        deliveryId,
        attempt,
        (r) => timestamp(r.next.dueAt),
        (r) => r.next.failures,
      ),
      documents(waiting, (r) => ({ ...r.claimed.message, ...r.next.left })),
      ...columns(waiting, (r) => r.next.crashes ?? 0),
    ],
  }
}
