import type { Database, Notifier, Transaction } from '@gatehouse/kit'
import type { Retention } from '../../config/options.ts'
import { purgeDeadLetters } from '../dead-letters/dead-letters.ts'
import { purgeInboxes } from '../inbox/inbox-count.ts'
import { timestamp } from '../sql/columns.ts'
import { purgeDevices } from '../users/devices.ts'
import { type AgingTable, agingTables, olderThan } from './retention.ts'

const batchSize = 1_000

/** For so long a purge goes on from where it was, in milliseconds. */
const sweepMs = 3_600_000

interface Old {
  readonly bucket: number
  /** What is younger stays. */
  readonly before: string
  readonly now: number
}

interface Purged {
  readonly removed: number
  /** Whose inboxes changed. */
  readonly users?: readonly string[]
}

/** Removes a batch of one table. */
type PurgeBatch = (tx: Transaction, old: Old) => Promise<Purged>

/** Removes what is old, a batch of each table at a time. */
export function createPurge(
  database: Database,
  buckets: number,
  inboxes: Notifier,
): (bucket: number, retention: Retention, now: number) => Promise<number> {
  const special: Readonly<Record<string, PurgeBatch>> = {
    dead_letter: async (tx, { bucket, before }) => ({ removed: await purgeDeadLetters(tx, bucket, before, batchSize) }),
    device: async (tx, { bucket, before }) => ({
      removed: await purgeDevices(tx, buckets, { bucket, deadBefore: before, limit: batchSize }),
    }),
    inbox: (tx, { bucket, before }) => purgeInboxes(tx, bucket, before, batchSize),
  }
  const rows = agingTables.map((table): [AgingTable, PurgeBatch] => [table, special[table.table] ?? purgeRows(table)])
  return async (bucket, retention, now) => {
    let removed = 0
    for (const [table, purge] of rows) {
      if (table.bucketed === false && bucket !== 0) continue
      const before = olderThan(table, retention, now)
      const purged = await database.transaction(async (tx) => {
        const [, batch] = await Promise.all([byIndex(tx), purge(tx, { bucket, before, now })])
        return batch
      })
      inboxes.publish(purged.users ?? [])
      removed += purged.removed
    }
    return removed
  }
}

/**
 * Has the statements of this transaction find rows by an index alone. The planner takes a batch of a small part of a
 * table for more than it is, and reads the whole of the table to join it.
 */
function byIndex(tx: Transaction): Promise<unknown> {
  return tx.query(`SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off;
    SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off`)
}

/**
 * Removes the first rows of the index of their age, and goes on where it ended before: what was removed stays in the index
 * until it is vacuumed, and would be walked through each time. Once an hour it begins at the head again, for a row may
 * have been held by somebody, or was not to be removed yet.
 */
function purgeRows({ table, age, key = [], unless, user, bucketed = true }: AgingTable): PurgeBatch {
  const isAt = bucketed ? 'bucket = $1' : '$1::integer IS NOT NULL'
  const type = age.holds === 'id' ? 'uuid' : 'timestamptz'
  const keys = (of: string) => key.map((column) => `${of}.${column}`).join(', ')
  const returned = user ? `, t.${user}` : ''
  const text = `WITH old AS MATERIALIZED (
      SELECT ${[...new Set([...key, age.column])].join(', ')} FROM notify.${table}
       WHERE ${isAt} AND ${age.column} < $2::${type} AND ${age.column} >= $4::${type}${unless ? ` AND NOT ${unless}` : ''}
       ORDER BY ${age.column} LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM notify.${table} t USING old WHERE ${isAt.replace('bucket', 't.bucket')} AND (${keys('t')}) = (${keys('old')})
    RETURNING old.${age.column} AS age${returned}`
  const head = age.holds === 'id' ? '00000000-0000-0000-0000-000000000000' : '-infinity'
  const sweeps = new Map<number, { since: number; reached: string }>()
  return async (tx, { bucket, before, now }) => {
    const last = sweeps.get(bucket)
    const sweep = last && now >= last.since && now < last.since + sweepMs ? last : { since: now, reached: head }
    const { rows } = await tx.query<{ age: string | number; user_id?: string }>({
      text,
      values: [bucket, before, batchSize, sweep.reached],
    })
    const reached = rows
      .map((row) => (typeof row.age === 'number' ? timestamp(row.age) : row.age))
      .sort()
      .at(-1)
    sweeps.set(bucket, reached === undefined ? sweep : { ...sweep, reached })
    if (user) await forgetUsers(tx, bucket, [...new Set(rows.flatMap(({ user_id: id }) => id ?? []))])
    return { removed: rows.length }
  }
}

/**
 * Removes the cap counters of those of these users who have nothing left: their windows are over, for a window is no
 * longer than the least retention. Who admits an event of a user writes the log under the lock of this row: a user
 * whose row is held is left alone, and after the lock a fresh snapshot sees what was written before.
 */
async function forgetUsers(tx: Transaction, bucket: number, users: readonly string[]): Promise<void> {
  if (users.length === 0) return
  const { rows } = await tx.query<{ user_id: string }>(
    `SELECT c.user_id FROM notify.cap c WHERE c.bucket = $1 AND c.user_id = ANY($2::text[])
      ORDER BY c.user_id FOR UPDATE SKIP LOCKED`,
    [bucket, users],
  )
  if (rows.length === 0) return
  await tx.query(
    `DELETE FROM notify.cap c WHERE c.bucket = $1 AND c.user_id = ANY($2::text[])
        AND NOT EXISTS (SELECT FROM notify.dedup_log l WHERE l.bucket = $1 AND l.user_id = c.user_id)
        AND NOT EXISTS (SELECT FROM notify.notification n WHERE n.bucket = $1 AND n.user_id = c.user_id)`,
    [bucket, rows.map(({ user_id: user }) => user)],
  )
}
