import type { Transaction } from '@gatehouse/kit'
import { bucketOfUser, newId, newIdOfUser } from '../../model/id.ts'
import type { CountedFailure, FailedMessage, InvalidMessage } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'

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
  const letter = {
    userId: request.user_id,
    event: request.event,
    cause: failedMessage,
    detail,
    message: { text, request },
  }
  await Promise.all([
    addLetter(tx, bucket, letter, now),
    tx.query('UPDATE notify.topic_failure SET dead = true WHERE bucket = $1 AND key = $2', [bucket, key]),
  ])
  return { attempts, isDead: true }
}

/**
 * Makes one dead letter of a message that can't be taken, however often it comes again: the queue delivers it until it
 * knows that the letter is written. The row of its failures says so, and of two that write it at once one waits.
 */
export async function addInvalid(
  tx: Transaction,
  bucket: number,
  { key, text, reason, userId, event, request }: InvalidMessage,
  now: number,
): Promise<void> {
  const { rowCount: first } = await tx.query(
    `INSERT INTO notify.topic_failure AS f (bucket, key, attempts, dead, at) VALUES ($1, $2, 1, true, $3)
     ON CONFLICT (bucket, key) DO UPDATE SET dead = true, at = excluded.at WHERE NOT f.dead`,
    [bucket, key, timestamp(now)],
  )
  if (first === 0) return
  const message = { text, ...(request ? { request } : {}) }
  await addLetter(tx, bucket, { userId, event, cause: 'invalid_message', detail: reason, message }, now)
}

interface Letter {
  readonly userId: string | undefined
  readonly event: string | undefined
  readonly cause: string
  readonly detail: string
  readonly message: object
}

async function addLetter(
  tx: Transaction,
  bucket: number,
  { userId, event, cause, detail, message }: Letter,
  now: number,
): Promise<void> {
  await tx.query(
    `INSERT INTO notify.dead_letter (bucket, id, user_id, event, cause, detail, died_at, message)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      bucket,
      userId === undefined ? newId(0) : newIdOfUser(userId),
      userId ?? null,
      event ?? null,
      cause,
      detail,
      timestamp(now),
      JSON.stringify(message),
    ],
  )
}
