import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfId } from '../../model/id.ts'
import type { ReplayProgress } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'
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

/** What became of a batch by now; what was neither sent nor died nor waits has ended, or is gone. */
export async function findReplay(database: Database, buckets: number, id: string): Promise<ReplayProgress | undefined> {
  const { rows } = await database.query<{ created_at: number; letter_ids: string[] }>(
    'SELECT created_at, letter_ids FROM notify.replay_batch WHERE id = $1',
    [id],
  )
  const [batch] = rows
  if (!batch) return undefined
  let [sent, waiting, dead] = [0, 0, 0]
  for (const [bucket, ids] of Map.groupBy(batch.letter_ids, (each) => bucketOfId(each, buckets))) {
    const counted = await database.query<Omit<ReplayProgress, 'total' | 'createdAt'>>(progressSql, [bucket, ids])
    sent += counted.rows[0]?.sent ?? 0
    waiting += counted.rows[0]?.waiting ?? 0
    dead += counted.rows[0]?.dead ?? 0
  }
  return { createdAt: batch.created_at, total: batch.letter_ids.length, sent, waiting, dead }
}

/** A letter of a scheduled event has no delivery: its event is accepted again, and then is no longer known by this id. */
const progressSql = `
SELECT (SELECT count(*) FROM notify.delivery d WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.state <> 'queued') AS sent,
       (SELECT count(*) FROM notify.delivery d WHERE d.bucket = $1 AND ${among('d.id', '$2')} AND d.state = 'queued'
                                                 AND d.ended IS NULL)
       + (SELECT count(*) FROM notify.scheduled s WHERE s.bucket = $1 AND ${among('s.id', '$2')}) AS waiting,
       (SELECT count(*) FROM notify.dead_letter l WHERE l.bucket = $1 AND ${among('l.id', '$2')}) AS dead`
