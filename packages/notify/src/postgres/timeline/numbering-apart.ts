import type { Database, Transaction } from '@gatehouse/kit'
import { at } from '../nodes/spread-database.ts'
import { documents, timestamp } from '../sql/columns.ts'

/** Where a look at the outbox of a bucket begins. */
interface OutboxLook {
  readonly bucket: number
  /** The first id that is looked at. */
  readonly since: string
}

/** Numbers the changes of up to `limit` rows of these buckets, in this order; answers how many changes. */
export type NumberInTurn = (looks: readonly OutboxLook[], limit: number, now: number) => Promise<number>

/** What is known of a bucket: it stands for as long as nobody numbers or erases changes of it. */
interface NumberedBatch {
  readonly version: number
  /** The rows that were numbered last: they may still be in the outbox. */
  readonly ids: readonly string[]
}

interface WaitingRow {
  readonly id: string
  readonly waiting: unknown
  readonly count: number
}

/** So often a bucket is looked at again where somebody else numbered or erased changes of it meanwhile. */
const maxAttempts = 3

/**
 * An erasure is committed here before it is on the other node: the version of the bucket is already that after it, and
 * the rows are not. Locked, they are read only once that node has committed it as well.
 */
const waitingSql = `
SELECT o.id, row_to_json(o) AS waiting, cardinality(o.changes) AS count
  FROM notify.outbox o WHERE o.bucket = $1 AND o.id >= $2 ORDER BY o.id LIMIT $3 FOR SHARE`

/**
 * Numbers changes whose outbox is on another node than the log. Nothing of the log is locked while a node is waited for:
 * changes are read there, numbered on the coordinator alone, and then removed there. Of two who have read the same ones
 * the first numbers them, for that makes another version of the bucket. Who comes after a crash in between removes what
 * was numbered before they read.
 */
export function createNumberingApart(database: Database): NumberInTurn {
  const known = new Map<number, NumberedBatch>()
  const numberOnce = async ({ bucket, since }: OutboxLook, limit: number, now: number): Promise<number | undefined> => {
    const batch = known.get(bucket) ?? (await readBatch(database, bucket))
    known.delete(bucket)
    await removeNumbered(database, bucket, batch.ids)
    const values = [bucket, since, limit]
    const { rows } = await at(database, bucket).query<WaitingRow>({
      name: 'notify_read_outbox',
      text: waitingSql,
      values,
    })
    if (rows.length === 0) {
      known.set(bucket, { ...batch, ids: [] })
      return 0
    }
    if (!(await numberRead(database, { bucket, version: batch.version, rows, now }))) return undefined
    await removeNumbered(
      database,
      bucket,
      rows.map(({ id }) => id),
    )
    known.set(bucket, { version: batch.version + 1, ids: [] })
    return rows.reduce((sum, row) => sum + row.count, 0)
  }
  const numberBucket = async (look: OutboxLook, limit: number, now: number): Promise<number> => {
    for (let attempts = 0; attempts < maxAttempts; attempts++) {
      const numbered = await numberOnce(look, limit, now)
      if (numbered !== undefined) return numbered
    }
    return 0
  }
  return async (looks, limit, now) => {
    let numbered = 0
    for (const look of looks) if (numbered < limit) numbered += await numberBucket(look, limit - numbered, now)
    return numbered
  }
}

async function readBatch(database: Database, bucket: number): Promise<NumberedBatch> {
  const read = () =>
    database.query<NumberedBatch>('SELECT version, ids FROM notify.numbered_batch WHERE bucket = $1', [bucket])
  const [found] = (await read()).rows
  if (found) return found
  await database.query('INSERT INTO notify.numbered_batch (bucket) VALUES ($1) ON CONFLICT DO NOTHING', [bucket])
  const [made] = (await read()).rows
  if (!made) throw new Error(`bucket ${bucket} has no row in notify.numbered_batch`)
  return made
}

interface Read {
  readonly bucket: number
  readonly version: number
  readonly rows: readonly WaitingRow[]
  readonly now: number
}

/** Whether they were numbered, in one statement on the coordinator alone; not where the bucket has another version by now. */
async function numberRead(database: Database, { bucket, version, rows, now }: Read): Promise<boolean> {
  const found = await database.query<{ numbered: boolean }>({
    name: 'notify_number_read_changes',
    text: 'SELECT notify.number_read_changes($1, $2, $3, $4) AS numbered',
    values: [bucket, version, documents(rows, ({ waiting }) => waiting), timestamp(now)],
  })
  return found.rows[0]?.numbered ?? false
}

/** Several may remove the same rows, and others read them: all lock them in the order of their ids, so that none waits for ever. */
const removeSql = `
DELETE FROM notify.outbox
 WHERE bucket = $1 AND id = ANY (ARRAY(
       SELECT id FROM notify.outbox WHERE bucket = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR UPDATE))`

async function removeNumbered(database: Database, bucket: number, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await at(database, bucket).query({ name: 'notify_remove_numbered', text: removeSql, values: [bucket, ids] })
}

/**
 * Has nobody number what they have read of a bucket before this transaction: it erases some of it. What was numbered until
 * now is in the log, where the statements that follow find it.
 */
export async function forbidReadChanges(tx: Transaction, bucket: number): Promise<void> {
  await tx.query(
    `INSERT INTO notify.numbered_batch AS b (bucket, version) VALUES ($1, 1)
     ON CONFLICT (bucket) DO UPDATE SET version = b.version + 1`,
    [bucket],
  )
}
