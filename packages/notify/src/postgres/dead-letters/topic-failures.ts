import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfUser, newId, newIdOfUser } from '../../model/id.ts'
import type { CountedFailure, FailedMessage, InvalidMessage } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { storable, timestamp } from '../sql/columns.ts'

/** The cause of a dead letter that was a valid message of the topic, and failed by its own fault. */
export const failedMessage = 'failed_message'

/**
 * Counts a failure of a message of the topic, over all processes. The one that makes `maxAttempts` of them, or the first
 * after that number was lowered, writes the dead letter in the same transaction; the row says so to any later one.
 */
export async function countFailure(
  tx: Transaction,
  { buckets, maxAttempts, now }: { readonly buckets: number; readonly maxAttempts: number; readonly now: number },
  { key, text, reason, request }: FailedMessage,
): Promise<CountedFailure> {
  const bucket = bucketOfUser(request.user_id, buckets)
  const { rows } = await tx.query<{ attempts: number; dead: boolean }>(
    `INSERT INTO notify.topic_failure AS f (bucket, key, attempts, dead, at) VALUES ($1, $2, 1, false, $3)
     ON CONFLICT (bucket, key) DO UPDATE SET attempts = f.attempts + 1, at = excluded.at
     RETURNING attempts, dead`,
    [bucket, key, timestamp(now)],
  )
  const { attempts, dead } = rows[0] ?? { attempts: 1, dead: false }
  if (dead || attempts < maxAttempts) return { attempts, isDead: dead }
  const detail = `${attempts} attempts failed, the last: ${reason}`
  const values = [
    bucket,
    newIdOfUser(request.user_id),
    request.user_id,
    request.event,
    failedMessage,
    detail,
    timestamp(now),
  ]
  await Promise.all([
    tx.query(
      `INSERT INTO notify.dead_letter (bucket, id, user_id, event, cause, detail, died_at, message)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [...values, JSON.stringify({ text, request })],
    ),
    tx.query('UPDATE notify.topic_failure SET dead = true WHERE bucket = $1 AND key = $2', [bucket, key]),
  ])
  return { attempts, isDead: true }
}

/** Makes a dead letter of a message that can't be taken. */
export async function addInvalid(
  database: Database,
  buckets: number,
  { text, reason, userId, event, request }: InvalidMessage,
  now: number,
): Promise<void> {
  const bucket = userId === undefined ? 0 : bucketOfUser(userId, buckets)
  const message = JSON.stringify({ text: storable(text), ...(request ? { request } : {}) })
  await at(database, bucket).query(
    `INSERT INTO notify.dead_letter (bucket, id, user_id, event, cause, detail, died_at, message)
         VALUES ($1, $2, $3, $4, 'invalid_message', $5, $6, $7)`,
    [
      bucket,
      userId === undefined ? newId(0) : newIdOfUser(userId),
      userId ?? null,
      event ?? null,
      storable(reason),
      timestamp(now),
      message,
    ],
  )
}
