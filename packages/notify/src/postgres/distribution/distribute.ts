import { type Database, migrate, type Queryable, StartError, tryLockMigrations } from '@gatehouse/kit'
import { changeBuckets } from './change-buckets.ts'
import { migrations } from './migrate.ts'
import { anchorTable, citusTables, type Placement } from './tables.ts'

/** What is distributed, and how. */
export interface DistributeOptions {
  /** The number of buckets of a new database: `NOTIFY_BUCKETS`. */
  readonly buckets: number
  /** Another number of buckets, into which the rows are moved first; only as long as they are not distributed. */
  readonly changeTo?: number
}

/** What {@link distributeNotify} found and did. */
export interface DistributionReport {
  readonly buckets: number
  readonly workers: number
  /** The tables that this call distributed. */
  readonly distributed: readonly string[]
  /** How many are distributed now. */
  readonly tables: number
}

/** Copying rows to the workers, or into other buckets, may take long. */
const copyTimeoutMs = 24 * 60 * 60_000

/**
 * Distributes the tables of users over the workers of Citus, by their bucket, all of a bucket on one node. It goes on
 * where an earlier call ended, and has nothing to do where no table is new: call it after each migration. The database
 * must have one connection, so that every other connection to it is another process's.
 *
 * @throws StartError where there is no Citus or no worker, for tables that processes use, and for those of one bucket
 */
export async function distributeNotify(database: Database, options: DistributeOptions): Promise<DistributionReport> {
  const workers = await refuseWithoutWorkers(database)
  await migrate(database, 'notify', migrations)
  return database.session(async (session) => {
    await session.query('SET statement_timeout = 0')
    await session.query('SET lock_timeout = 0')
    if (!(await tryLockMigrations(session, 'notify')))
      throw new StartError('another process is migrating or distributing the notification tables.')
    const isNew = (await citusTables(session)).every(({ distributed }) => !distributed)
    if (isNew) await refuseWhileUsed(session)
    const buckets = await settleBuckets(session, options, isNew)
    const distributed = await distributeTables(session)
    return { buckets, workers, distributed, tables: (await citusTables(session)).length }
  })
}

/**
 * Distributes those tables that are not, with the rows that they have, and removes what was left on the coordinator;
 * returns their names.
 */
export async function distributeTables(on: Queryable): Promise<string[]> {
  const tables = await citusTables(on)
  const missing = tables.filter(({ distributed }) => !distributed)
  const removeSql = 'SELECT truncate_local_data_after_distributing_table($1)'
  for (const { table } of tables.filter(({ leftover }) => leftover))
    await on.query({ text: removeSql, values: [`notify.${table}`], timeoutMs: copyTimeoutMs })
  for (const { table, placement } of missing) {
    const values = [`notify.${table}`]
    await on.query({ text: placeSql(table, placement), values, timeoutMs: copyTimeoutMs })
    await on.query({ text: removeSql, values, timeoutMs: copyTimeoutMs })
  }
  await on.query(distributeFunctionsSql)
  await on.query(distributeProceduresSql)
  return missing.map(({ table }) => table)
}

/** The statement that places a table, `$1`. */
function placeSql(table: string, placement: Placement): string {
  if (placement === 'copied') return 'SELECT create_reference_table($1)'
  const companion = table === anchorTable ? 'none' : `notify.${anchorTable}`
  return `SELECT create_distributed_table($1, 'bucket', colocate_with => '${companion}')`
}

/** Has calls of these procedures run on the node of their bucket, with one round trip instead of one for each statement. */
const distributeProceduresSql = `
SELECT create_distributed_function(p.oid::regprocedure, 'of_bucket', colocate_with => 'notify.${anchorTable}')
  FROM pg_proc p
 WHERE p.oid IN (to_regproc('notify.run_at_once'), to_regproc('notify.read_at_once'))
   AND NOT EXISTS (SELECT FROM pg_dist_object o WHERE o.objid = p.oid AND o.distribution_argument_index IS NOT NULL)`

/** What those call has to be on each node. */
const distributeFunctionsSql = `
SELECT create_distributed_function(p.oid::regprocedure)
  FROM unnest(ARRAY['lock_shard', 'name_shards', 'use_indexes', 'tables_looked_up', 'prepared_call']) AS name
  JOIN pg_proc p ON p.oid = to_regproc('notify.' || name)
 WHERE NOT EXISTS (SELECT FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)`

/** @throws StartError where there is no Citus, or it has no workers, or knows no coordinator, or this is a worker */
async function refuseWithoutWorkers(on: Queryable): Promise<number> {
  const { rows } = await on.query("SELECT FROM pg_extension WHERE extname = 'citus'")
  if (rows.length === 0)
    throw new StartError(
      'this database is not distributed: it needs the extension citus, created on every node, and workers that were added to the coordinator.',
    )
  const found = await on.query<{ is_coordinator: boolean; has_address: boolean; workers: number }>(
    `SELECT citus_is_coordinator() AS is_coordinator,
            EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) AS has_address,
            (SELECT count(*) FROM pg_dist_node WHERE groupid > 0 AND isactive AND shouldhaveshards) AS workers`,
  )
  const [
    { is_coordinator: isCoordinator, has_address: hasAddress, workers } = {
      is_coordinator: false,
      has_address: false,
      workers: 0,
    },
  ] = found.rows
  if (!isCoordinator) throw new StartError('DATABASE_URL names a worker of Citus; the coordinator is needed.')
  if (workers === 0)
    throw new StartError("Citus has no workers: add each on the coordinator, with SELECT citus_add_node('host', 5432).")
  if (!hasAddress)
    throw new StartError(
      "Citus does not know its coordinator: on it, SELECT citus_set_coordinator_host('host', 5432), with the host by which workers reach it.",
    )
  return workers
}

/** Who opened the tables as they were goes on to work on them so. */
async function refuseWhileUsed(session: Queryable): Promise<void> {
  const { rows } = await session.query<{ connections: number }>(
    `SELECT count(*) AS connections FROM pg_stat_activity
      WHERE application_name = 'gatehouse' AND datname = current_database() AND pid <> pg_backend_pid()`,
  )
  const connections = rows[0]?.connections ?? 0
  if (connections > 0)
    throw new StartError(
      `gatehouse has ${connections} more connections to this database: stop all its processes before the tables are ` +
        'distributed. Where none runs, a pooler keeps their connections: close them there (RECONNECT in PgBouncer).',
    )
}

/** Settles the number of buckets, and moves the rows into so many. @throws StartError where it can't be that */
async function settleBuckets(
  session: Queryable,
  { buckets: setting, changeTo }: DistributeOptions,
  isNew: boolean,
): Promise<number> {
  const { rows } = await session.query<{ value: number }>("SELECT value FROM notify.property WHERE name = 'buckets'")
  const current = rows[0]?.value
  const wanted = changeTo ?? current ?? setting
  if (wanted < 2)
    throw new StartError(
      'one bucket (NOTIFY_BUCKETS) can only be on one worker: 32 to 64 are the advice. ' +
        '`gatehouse database distribute --buckets 32` moves what there is into 32; then set NOTIFY_BUCKETS=32.',
    )
  if (wanted === current) return wanted
  if (!isNew)
    throw new StartError(`the tables are distributed in ${current} buckets; that number can't be changed any more.`)
  await changeBuckets(session, wanted, copyTimeoutMs)
  return wanted
}
