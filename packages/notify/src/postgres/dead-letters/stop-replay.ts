import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { bucketOfId, channelOf, notificationIdOf } from '../../model/id.ts'
import { at } from '../nodes/spread-database.ts'
import { columns, optionalTimestamp, timestamp } from '../sql/columns.ts'
import { among, customPlan } from '../sql/plans.ts'
import { appendTimeline, type NewTimelineEntry } from '../timeline/timeline.ts'
import { readBatch } from './replays.ts'
import type { KeptLetter } from './requeue.ts'

/** What a replay gave back and nobody works at. */
interface WaitingRow {
  readonly letter: KeptLetter
  readonly user_id: string
  readonly channel: Channel | null
  readonly expires_at: number | null
  /** JSON of what another replay begins with; null for what is planned again. */
  readonly message: string | null
}

/** A lease that has not ended: somebody plans it, or calls a provider with it. */
const isFree = '(lease_until IS NULL OR lease_until < now())'
const ofReplay = "letter->>'batch' = $3"

/**
 * Stops a replay bucket by bucket. Each row is locked when it is removed, as whoever claims it locks it: the first of the
 * two has it. Stopped twice, or again after a crash, it goes on where it was.
 */
export async function stopReplay(
  database: Database,
  buckets: number,
  batchId: string,
  now: number,
): Promise<number | undefined> {
  const batch = await readBatch(database, batchId)
  if (!batch) return undefined
  await database.query('UPDATE notify.replay_batch SET stopped_at = coalesce(stopped_at, $2) WHERE id = $1', [
    batchId,
    timestamp(now),
  ])
  let stopped = 0
  for (const [bucket, ids] of Map.groupBy(batch.letter_ids, (id) => bucketOfId(id, buckets)))
    stopped += await at(database, bucket).transaction((tx) => stopIn(tx, { bucket, ids, batchId, now }))
  return stopped
}

interface Stop {
  readonly bucket: number
  readonly ids: readonly string[]
  readonly batchId: string
  readonly now: number
}

async function stopIn(tx: Transaction, stop: Stop): Promise<number> {
  await tx.query(customPlan)
  const rows = [
    ...(await removeQueued(tx, stop)),
    ...(await removeDeferred(tx, stop)),
    ...(await removeScheduled(tx, stop)),
  ]
  if (rows.length === 0) return 0
  const { bucket, now } = stop
  await restore(tx, bucket, rows)
  const deliveries = rows.filter(({ channel }) => channel !== null)
  await tx.query(
    `UPDATE notify.delivery SET ended = 'dead_letter' WHERE bucket = $1 AND ${among('id', '$2')} AND state = 'queued'`,
    [bucket, deliveries.map(({ letter }) => letter.id)],
  )
  for (const query of appendTimeline(
    { count: 1, bucket },
    deliveries.map((row) => stoppedEntry(row, now)),
  ))
    await tx.query(query)
  return rows.length
}

interface QueuedRow extends Omit<WaitingRow, 'message'> {
  readonly message: Readonly<Record<string, unknown>>
  readonly attempt: number
}

async function removeQueued(tx: Transaction, { bucket, ids, batchId }: Stop): Promise<WaitingRow[]> {
  const { rows } = await tx.query<QueuedRow>(
    `DELETE FROM notify.delivery_queue
      WHERE bucket = $1 AND ${among('delivery_id', '$2')} AND ${ofReplay} AND ${isFree}
     RETURNING letter, user_id, channel, expires_at, message, attempt`,
    [bucket, ids, batchId],
  )
  return rows.map(({ attempt, ...row }) => {
    const isUntried = row.letter.unwritten === true && attempt === 0
    return { ...row, message: isUntried ? null : replayable(row.message, attempt) }
  })
}

/** Without what a replay begins afresh with, as a delivery that dies is stored. */
function replayable(message: QueuedRow['message'], attempt: number): string {
  const { waitsSince, postponements, failedProviders, ...kept } = message
  return JSON.stringify({ ...kept, earlierClaims: attempt })
}

async function removeDeferred(tx: Transaction, { bucket, ids, batchId }: Stop): Promise<WaitingRow[]> {
  const { rows } = await tx.query<Omit<WaitingRow, 'channel' | 'expires_at'>>(
    `DELETE FROM notify.deferred WHERE bucket = $1 AND ${among('notification_id', '$2')} AND ${ofReplay} AND ${isFree}
     RETURNING letter, user_id, NULL AS message`,
    [bucket, [...new Set(ids.map(notificationIdOf))], batchId],
  )
  const notifications = await tx.query<{ id: string; expires_at: number | null }>(
    `SELECT id, expires_at FROM notify.notification WHERE bucket = $1 AND ${among('id', '$2')}`,
    [bucket, rows.map(({ letter }) => notificationIdOf(letter.id))],
  )
  const expiries = new Map(notifications.rows.map((row) => [row.id, row.expires_at]))
  return rows.map((row) => ({
    ...row,
    channel: channelOf(row.letter.id) ?? null,
    expires_at: expiries.get(notificationIdOf(row.letter.id)) ?? null,
  }))
}

async function removeScheduled(tx: Transaction, { bucket, ids, batchId }: Stop): Promise<WaitingRow[]> {
  const { rows } = await tx.query<Pick<WaitingRow, 'letter' | 'user_id'> & { readonly payload: object }>(
    `DELETE FROM notify.scheduled WHERE bucket = $1 AND ${among('id', '$2')} AND ${ofReplay} AND ${isFree}
     RETURNING letter, user_id, payload`,
    [bucket, ids, batchId],
  )
  return rows.map(({ payload: request, ...row }) => {
    const message = JSON.stringify({ request, text: JSON.stringify(request) })
    return { ...row, channel: null, expires_at: null, message }
  })
}

async function restore(tx: Transaction, bucket: number, rows: readonly WaitingRow[]): Promise<void> {
  await tx.query(
    `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at, message,
                                     expires_at)
     SELECT $1, l.id, l.notification_id, l.user_id, l.channel, l.event, l.cause, l.detail, l.died_at, l.message::jsonb,
            l.expires_at
       FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[],
                   $10::text[], $11::timestamptz[])
            AS l (id, notification_id, user_id, channel, event, cause, detail, died_at, message, expires_at)
     ON CONFLICT (bucket, id) DO NOTHING`,
    [
      bucket,
      ...columns(
        rows,
        ({ letter }) => letter.id,
        ({ letter, channel }) => (channel === null ? null : notificationIdOf(letter.id)),
        (row) => row.user_id,
        (row) => row.channel,
        ({ letter }) => letter.event,
        ({ letter }) => letter.cause,
        ({ letter }) => letter.detail,
        ({ letter }) => timestamp(letter.died_at),
        (row) => row.message,
        (row) => optionalTimestamp(row.expires_at),
      ),
    ],
  )
}

function stoppedEntry({ letter, channel }: WaitingRow, at: number): NewTimelineEntry {
  const { id } = letter
  return {
    notificationId: notificationIdOf(id),
    deliveryId: id,
    channel,
    at,
    entryType: 'replay_stopped',
    detail: { delivery_id: id },
  }
}
