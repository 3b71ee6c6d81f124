import { type Database, migrate, StartError } from '@gatehouse/kit'
import { readDistributed } from '../sql/buckets.ts'
import { anchorTable, citusTables } from './tables.ts'

/** How the tables of users are divided, as a store must know it. */
export interface TableDivision {
  readonly buckets: number
  /** Whether a distributed engine has them. */
  readonly distributed: boolean
}

/** The tables' migrations. */
export const migrations = new URL('../migrations/', import.meta.url)

/**
 * Brings the schema `notify` up to date and fixes its number of buckets, default 1.
 *
 * @throws StartError when the database was created with another number, or is distributed but for some tables
 */
export async function migrateNotify(
  database: Database,
  { buckets = 1 }: { readonly buckets?: number } = {},
): Promise<TableDivision> {
  await migrate(database, 'notify', migrations)
  const created = (await readBuckets(database)) ?? (await createBuckets(database, buckets))
  if (created !== buckets)
    throw new StartError(
      `the notification tables were created with ${created} buckets, not ${buckets} (NOTIFY_BUCKETS).`,
    )
  const distributed = await readDistributed(database)
  if (distributed) await refuseUndistributed(database)
  return { buckets, distributed }
}

async function readBuckets(database: Database): Promise<number | undefined> {
  const { rows } = await database.query<{ value: number }>("SELECT value FROM notify.property WHERE name = 'buckets'")
  return rows[0]?.value
}

/** Only once: on a distributed engine all nodes must be there for it. */
async function createBuckets(database: Database, buckets: number): Promise<number | undefined> {
  await database.query(
    `INSERT INTO notify.${anchorTable} (bucket)
     SELECT n FROM generate_series(0, $1::integer - 1) AS n ON CONFLICT (bucket) DO NOTHING`,
    [buckets],
  )
  await database.query(
    "INSERT INTO notify.property (name, value) VALUES ('buckets', $1) ON CONFLICT (name) DO NOTHING",
    [buckets],
  )
  return readBuckets(database)
}

async function refuseUndistributed(database: Database): Promise<void> {
  const missing = (await citusTables(database)).filter(({ distributed }) => !distributed)
  if (missing.length > 0)
    throw new StartError(
      `${missing.map(({ table }) => `notify.${table}`).join(', ')} is not distributed as the other tables are: ` +
        'run `gatehouse database distribute`.',
    )
}
