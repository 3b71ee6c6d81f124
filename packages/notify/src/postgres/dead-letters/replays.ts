import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfId, notificationIdOf } from '../../model/id.ts'
import type { ReplayedLetter, ReplayProgress } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { timestamp, withoutNulls } from '../sql/columns.ts'
import { among } from '../sql/plans.ts'

/** Records which letters went back, in the transaction that gives them back: none is in a batch that stayed, or the reverse. */
export async function recordReplay(
  tx: Transaction,
  batchId: string,
  now: number,
  ids: readonly string[],
): Promise<void> {
  await tx.query(
    `INSERT INTO notify.replay_batch AS b (id, created_at, letter_ids) VALUES ($1, $2, $3::uuid[])
     ON CONFLICT (id) DO UPDATE SET letter_ids = b.letter_ids || excluded.letter_ids`,
    [batchId, timestamp(now), ids],
  )
}

/** A batch as it is stored. */
export interface ReplayBatch {
  readonly created_at: number
  readonly letter_ids: string[]
  readonly stopped_at: number | null
}

/** The letters that were replayed together. */
export async function readBatch(database: Database, id: string): Promise<ReplayBatch | undefined> {
  const { rows } = await database.query<ReplayBatch>(
    'SELECT created_at, letter_ids, stopped_at FROM notify.replay_batch WHERE id = $1',
    [id],
  )
  return rows[0]
}

/** So many letters are told one by one. */
const maxFirst = 10

/** What became of a batch by now; what was neither sent nor died nor waits has ended, or is gone. */
export async function findReplay(database: Database, buckets: number, id: string): Promise<ReplayProgress | undefined> {
  const batch = await readBatch(database, id)
  if (!batch) return undefined
  let [sent, waiting, dead] = [0, 0, 0]
  for (const [bucket, ids] of Map.groupBy(batch.letter_ids, (each) => bucketOfId(each, buckets))) {
    const counted = await at(database, bucket).query<Pick<ReplayProgress, 'sent' | 'waiting' | 'dead'>>(progressSql, [
      bucket,
      ids,
    ])
    sent += counted.rows[0]?.sent ?? 0
    waiting += counted.rows[0]?.waiting ?? 0
    dead += counted.rows[0]?.dead ?? 0
  }
  const first = await readFirst(database, buckets, batch.letter_ids.toSorted().slice(0, maxFirst))
  const { created_at: createdAt, letter_ids: letters, stopped_at: stoppedAt } = batch
  return { createdAt, total: letters.length, sent, waiting, dead, first, ...withoutNulls({ stoppedAt }) }
}

/** A letter of a scheduled event has no delivery: its event is accepted again, and then is no longer known by this id. */
const progressSql = `
SELECT (SELECT count(*) FROM notify.delivery d WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.state <> 'queued') AS sent,
       (SELECT count(*) FROM notify.delivery d WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.state = 'queued'
                                                 AND d.ended IS NULL)
       + (SELECT count(*) FROM notify.scheduled s WHERE s.bucket = $1 AND ${among('s.id', '$2')}) AS waiting,
       (SELECT count(*) FROM notify.dead_letter l WHERE l.bucket = $1 AND ${among('l.id', '$2')}) AS dead`

async function readFirst(database: Database, buckets: number, ids: readonly string[]): Promise<ReplayedLetter[]> {
  const found: ReplayedLetter[] = []
  for (const [bucket, mine] of Map.groupBy(ids, (each) => bucketOfId(each, buckets))) {
    const { rows } = await at(database, bucket).query<{
      id: string
      notification_id: string | null
      status: ReplayedLetter['status']
    }>(statusSql, [bucket, mine, mine.map(notificationIdOf)])
    found.push(
      ...rows.map(({ id, status, notification_id: notificationId }) => ({
        id,
        status,
        ...withoutNulls({ notificationId }),
      })),
    )
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

const statusSql = `
SELECT r.id,
       CASE WHEN EXISTS (SELECT FROM notify.dead_letter l WHERE l.bucket = $1 AND l.id = r.id) THEN 'dead'
            WHEN d.state <> 'queued' THEN 'sent'
            WHEN d.id IS NOT NULL AND d.ended IS NULL THEN 'waiting'
            WHEN EXISTS (SELECT FROM notify.scheduled s WHERE s.bucket = $1 AND s.id = r.id) THEN 'waiting'
            ELSE 'gone' END AS status,
       CASE WHEN d.id IS NOT NULL THEN n.id END AS notification_id
  FROM unnest($2::uuid[], $3::uuid[]) AS r (id, notification_id)
  LEFT JOIN notify.delivery d ON d.bucket = $1 AND d.id = r.id
  LEFT JOIN notify.notification n ON n.bucket = $1 AND n.id = r.notification_id`
