import type { Transaction } from '@gatehouse/kit'
import { notificationIdOf } from '../../model/id.ts'
import type { ReplayPace } from '../../store/store.ts'
import { optionalTimestamp, timestamp } from '../sql/columns.ts'
import { among } from '../sql/plans.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'
import { removeLetters, type Selection } from './remove.ts'
import { type RemovedLetter, replanDeliveries, requeueDeliveries, rescheduleRequests } from './requeue.ts'

/**
 * Gives letters back: one that has its message is sent again as it was; one whose template failed is planned again; a
 * scheduled one is scheduled again, and so is a message of the topic that named what there was not. One that is no notify
 * request can't be replayed and stays, and so does one that was never written and whose notification is purged, and one
 * that has expired.
 */
export async function replay(
  tx: Transaction,
  bucket: number,
  { filter, limit, at, spacing, batchId }: ReplaySelection,
): Promise<string[]> {
  const all = await removeLetters(tx, bucket, { filter, limit, at })
  const stored = await storedOf(tx, bucket, all)
  // Asked again under the lock: its notification may have been purged since the letter was chosen.
  const isLost = ({ cause, message, notification_id }: RemovedLetter) =>
    message === null ? !stored.has(notification_id) : cause === 'invalid_message' && message.request === undefined
  await restoreLetters(tx, bucket, all.filter(isLost))
  const removed = all
    .filter((letter) => !isLost(letter))
    .map((letter, n) => ({ ...letter, batchId, dueAt: at + spacing.firstMs + n * spacing.eachMs }))
  const scheduled = removed.filter(({ message }) => message?.request !== undefined)
  const deliveries = removed.filter(({ message }) => message?.request === undefined)
  const whole = deliveries.filter(({ message }) => message !== null)
  const unwritten = deliveries.filter(({ message }) => message === null)
  await tx.query(`UPDATE notify.delivery SET ended = NULL WHERE bucket = $1 AND ${among('id', '$2')} AND state = $3`, [
    bucket,
    deliveries.map(({ id }) => id),
    'queued',
  ])
  await requeueDeliveries(tx, bucket, whole)
  await replanDeliveries(tx, bucket, unwritten)
  await rescheduleRequests(tx, bucket, scheduled)
  for (const query of appendTimeline(
    { count: 1, bucket },
    deliveries.map((letter) => replayedEntry(letter, letter.dueAt)),
  ))
    await tx.query(query)
  return removed.map(({ id }) => id)
}

interface ReplaySelection extends Selection {
  readonly at: number
  readonly spacing: Spacing
  readonly batchId: string | undefined
}

/** When letters of a replay are due, from its beginning on, in milliseconds. */
interface Spacing {
  readonly firstMs: number
  readonly eachMs: number
}

/** Those that went before have taken their turns. */
export function spacingOf(before: number, pace: ReplayPace | undefined): Spacing {
  const eachMs = pace?.perSecond === undefined ? 0 : 1_000 / pace.perSecond
  return { firstMs: before * eachMs, eachMs }
}

function replayedEntry({ id, channel }: RemovedLetter, at: number): NewTimelineEntry {
  const detail = { at: timestamp(at) }
  return { notificationId: notificationIdOf(id), deliveryId: id, channel, at, entryType: 'replayed', detail }
}

/** The notifications of letters that have not been purged, nor are until the transaction ends. */
async function storedOf(
  tx: Transaction,
  bucket: number,
  letters: readonly RemovedLetter[],
): Promise<Set<string | null>> {
  const { rows } = await tx.query<{ id: string }>(
    `SELECT id FROM notify.notification WHERE bucket = $1 AND ${among('id', '$2')} ORDER BY id FOR KEY SHARE`,
    [bucket, letters.map((letter) => letter.notification_id)],
  )
  return new Set(rows.map((row) => row.id))
}

async function restoreLetters(tx: Transaction, bucket: number, letters: readonly RemovedLetter[]): Promise<void> {
  for (const letter of letters)
    await tx.query(
      `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, message, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        bucket,
        letter.id,
        letter.notification_id,
        letter.user_id,
        letter.channel,
        letter.event,
        letter.cause,
        letter.detail,
        timestamp(letter.died_at),
        letter.message && JSON.stringify(letter.message),
        optionalTimestamp(letter.expires_at),
      ],
    )
}
