import type { Database, Notifier, Statements, Transaction } from '@gatehouse/kit'
import type { Retention } from '../../config/options.ts'
import { notificationIdOf } from '../../model/id.ts'
import { purgeDeadLetters } from '../dead-letters/dead-letters.ts'
import { purgeInboxes } from '../inbox/inbox-count.ts'
import { at } from '../nodes/spread-database.ts'
import type { Buckets } from '../sql/buckets.ts'
import { byIndexes } from '../sql/plans.ts'
import { createCapSweep } from './purge-caps.ts'
import { purgeDevices } from './purge-devices.ts'
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
  /** The first notification that may have rows left which are old, where a batch did not hold all of them. */
  readonly upTo?: string
  /** Whose inboxes changed. */
  readonly users?: readonly string[]
  /** To be called once it is committed. */
  readonly onCommitted?: () => void
}

/** What a purge of a bucket is to remove. */
interface Purging {
  readonly bucket: number
  readonly retention: Retention
  readonly now: number
}

/** Removes a batch of one table. */
type PurgeBatch = (tx: Transaction, old: Old) => Promise<Purged>

/** Removes what is old, a batch of each table at a time. */
export function createPurge(
  database: Database,
  layout: Buckets,
  inboxes: Notifier,
): (bucket: number, retention: Retention, now: number) => Promise<number> {
  const special: Readonly<Record<string, PurgeBatch>> = {
    dead_letter: async (tx, { bucket, before }) => ({ removed: await purgeDeadLetters(tx, bucket, before, batchSize) }),
    inbox: (tx, { bucket, before }) => purgeInboxes(tx, bucket, before, batchSize),
  }
  const purgeCaps = createCapSweep(batchSize)
  const [devices = [], others = []] = [true, false].map((own) =>
    agingTables.filter(({ table }) => (table === 'device') === own),
  )
  const rows = others.map((table): [AgingTable, PurgeBatch] => [table, special[table.table] ?? purgeRows(table)])
  const [undivided, divided] = [false, true].map((own) => rows.filter(([{ bucketed = true }]) => bucketed === own))
  const purgeTables = async (on: Statements, of: typeof rows = [], { bucket, retention, now }: Purging) => {
    let removed = 0
    const ends: Record<string, string> = {}
    for (const [table, purge] of of) {
      const before = earlierId(olderThan(table, retention, now), ends[table.table])
      const purged = await on.transaction(async (tx) => {
        const [, batch] = await Promise.all([tx.query(byIndexes), purge(tx, { bucket, before, now })])
        return batch
      })
      purged.onCommitted?.()
      inboxes.publish(purged.users ?? [])
      removed += purged.removed
      if (table.of && purged.upTo) ends[table.of] = earlierId(purged.upTo, ends[table.of])
    }
    return removed
  }
  return async (bucket, retention, now) => {
    const purging = { bucket, retention, now }
    const own = at(database, bucket)
    // What is in no bucket first, and devices last: no node of others' keeps the rest from being removed.
    let removed = bucket === 0 ? await purgeTables(database, undivided, purging) : 0
    removed += await purgeTables(own, divided, purging)
    const onCommitted = await own.transaction(async (tx) => {
      const [, purged] = await Promise.all([tx.query(byIndexes), purgeCaps(tx, bucket, now)])
      return purged
    })
    onCommitted()
    for (const table of devices) {
      const deadBefore = olderThan(table, retention, now)
      removed += await purgeDevices(database, layout, { bucket, deadBefore, limit: batchSize })
    }
    return removed
  }
}

const earlierId = (id: string, other: string = id) => (other < id ? other : id)

/**
 * Removes the first rows of the index of their age, and goes on where it ended before: what was removed stays in the index
 * until it is vacuumed, and would be walked through each time. Once an hour it begins at the head again, for a row may
 * not have been to be removed yet. No row is locked before it is deleted, but the few that a replay may need: that would
 * write each of them twice.
 */
function purgeRows(table: AgingTable): PurgeBatch {
  const { age } = table
  const [firstSql, removeSql] = [firstRowsSql(table), removeSqlOf(table)]
  const head = age.holds === 'id' ? '00000000-0000-0000-0000-000000000000' : '-infinity'
  const sweeps = new Map<number, { since: number; reached: string }>()
  return async (tx, { bucket, before, now }) => {
    const last = sweeps.get(bucket)
    const sweep = last && now >= last.since && now < last.since + sweepMs ? last : { since: now, reached: head }
    const { rows } = await tx.query<{ reached: string | null; found: number }>(firstSql, [
      bucket,
      before,
      sweep.reached,
      batchSize,
    ])
    const [{ reached, found } = { reached: null, found: 0 }] = rows
    const onCommitted = () => sweeps.set(bucket, { ...sweep, reached: reached ?? sweep.reached })
    if (reached === null || found === 0) return { removed: 0, onCommitted }
    if (table.lock) await tx.query(table.lock, [bucket, sweep.reached, reached])
    const { rowCount } = await tx.query(removeSql, [bucket, before, sweep.reached, reached, batchSize])
    const isFull = table.of !== undefined && found === batchSize
    return { removed: rowCount, onCommitted, ...(isFull && { upTo: notificationIdOf(reached) }) }
  }
}

const conditionsOf = ({ age, unless = [], bucketed = true }: AgingTable): string => {
  const type = age.holds === 'id' ? 'uuid' : 'timestamptz'
  return `${bucketed ? 'bucket = $1' : '$1::integer IS NOT NULL'}
         AND ${age.column} < $2::${type} AND ${age.column} >= $3::${type}${unless.map((one) => ` AND NOT ${one}`).join('')}`
}

/** How old the last row of the next batch is, and how many there are. */
function firstRowsSql(table: AgingTable): string {
  const { column } = table.age
  return `SELECT (array_agg(age ORDER BY age DESC))[1]::text AS reached, count(*)::integer AS found
            FROM (SELECT ${column} AS age FROM notify.${table.table}
                   WHERE ${conditionsOf(table)} ORDER BY ${column} LIMIT $4) AS first`
}

/**
 * Ids are distinct, or as good as that, so that a range of them is a batch. Of points in time one may be that of more rows
 * than a batch, so those are counted.
 */
function removeSqlOf(table: AgingTable): string {
  const { table: name, age, key = [], bucketed = true } = table
  if (age.holds === 'id')
    return `DELETE FROM notify.${name}
             WHERE ${conditionsOf(table)} AND ${age.column} <= $4::uuid AND $5::integer IS NOT NULL`
  const keys = (of: string) => key.map((column) => `${of}.${column}`).join(', ')
  return `WITH old AS MATERIALIZED (
      SELECT ${key.join(', ')} FROM notify.${name}
       WHERE ${conditionsOf(table)} AND ${age.column} <= $4::timestamptz ORDER BY ${age.column} LIMIT $5
    )
    DELETE FROM notify.${name} t USING old WHERE ${bucketed ? 't.bucket = $1 AND ' : ''}(${keys('t')}) = (${keys('old')})`
}
