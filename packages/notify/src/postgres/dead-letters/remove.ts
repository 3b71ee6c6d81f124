import type { Transaction } from '@gatehouse/kit'
import type { DeadLetterFilter } from '../../store/store.ts'
import { optionalTimestamp } from '../sql/columns.ts'
import { canBeReplayed, matching, valuesOf } from './filter.ts'
import type { RemovedLetter } from './requeue.ts'

/** The first `limit` letters that a filter names. */
export interface Selection {
  readonly filter: DeadLetterFilter
  readonly limit: number
  /** When they are replayed, Unix milliseconds: only those that can be, and have not expired by then. */
  readonly at?: number
}

/** Removes letters and returns them. */
export async function removeLetters(
  tx: Transaction,
  bucket: number,
  { filter, limit, at }: Selection,
): Promise<RemovedLetter[]> {
  const { rows } = await tx.query<RemovedLetter>(
    `WITH removed AS MATERIALIZED (
       SELECT id FROM notify.dead_letter
        WHERE ${matching} AND ($12::timestamptz IS NULL OR (expires_at IS NULL OR expires_at > $12) AND ${canBeReplayed})
        ORDER BY id LIMIT $11 FOR UPDATE SKIP LOCKED
     )
     DELETE FROM notify.dead_letter l WHERE l.bucket = $1 AND l.id = ANY (ARRAY(SELECT id FROM removed))
     RETURNING l.id, l.notification_id, l.user_id, l.channel, l.event, l.cause, l.detail, l.died_at, l.expires_at, l.message`,
    [...valuesOf(bucket, filter), limit, optionalTimestamp(at)],
  )
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}
