import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { StartError } from '../start-error.ts'
import { buildIndexes, type IndexStatement, indexStatements } from './concurrent-indexes.ts'
import type { Database, Queryable } from './database.ts'
import { sqlState } from './error.ts'
import { splitStatements } from './statements.ts'

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
  /** Whether programs that do not know this migration can't work on what it leaves. */
  readonly breaksOlder: boolean
  /** Indexes that are made while others work, outside a transaction. */
  readonly indexes: readonly IndexStatement[] | undefined
}

/** The first line of a migration that takes away or changes what an older program uses. */
const breaksOlderLine = '-- breaks older versions'

/** A migration may take long; what it may not do is wait long for a lock, while everybody else queues behind it. */
const migrationTimeoutMs = 60 * 60_000
const lockTimeoutMs = 3_000
const maxLockWaits = 100
/** How often a process looks whether another one is done with its migration, and how long it waits for it at most. */
const turnEveryMs = 100
const maxTurnMs = 2 * migrationTimeoutMs

const lockNotAvailable = '55P03'
const insufficientPrivilege = '42501'

/**
 * Brings `schema` up to date with the `NNNN-what.sql` files of `directory`, in order, each in a transaction of its own;
 * processes that start together wait for one another. A lock that is not free within three seconds is waited for again,
 * so that the statements of running processes pass in between. A file of `CREATE INDEX CONCURRENTLY` statements runs
 * outside a transaction, and is repeated where it stopped halfway; the embedded engine, which one process uses, runs it
 * as any other. A database that is newer is accepted, unless one of the migrations that this program does not know
 * breaks older versions.
 *
 * @returns the names of the migrations that this call applied
 * @throws StartError when an applied file was changed, the database is too new for this program, or its user may not
 *   create what is missing
 */
export async function migrate(database: Database, schema: string, directory: URL): Promise<string[]> {
  const migrations = await readMigrations(directory)
  const applied: string[] = []
  const until = performance.now() + maxTurnMs
  for (let waits = 0; ; ) {
    try {
      const step = await applyNext(database, schema, migrations)
      if (step === 'done') return applied
      if (step === 'busy') {
        if (performance.now() > until) throw new StartError(`another process has been migrating ${schema} for hours.`)
        await pause(turnEveryMs)
        continue
      }
      applied.push(...step.applied)
      waits = 0
    } catch (error) {
      if (sqlState(error) === insufficientPrivilege) throw notAllowed(schema, error)
      if (sqlState(error) !== lockNotAvailable || ++waits >= maxLockWaits) throw error
    }
  }
}

function notAllowed(schema: string, cause: unknown): StartError {
  const advice = 'it must own the database, or have GRANT CREATE ON DATABASE and own the schemas that exist'
  return new StartError(
    `the user of DATABASE_URL can't migrate the schema ${schema}: ${(cause as Error).message}; ${advice}.`,
    { cause },
  )
}

/** Done, another process is at it, or the migrations that this step applied: one, or none where another was faster. */
type Step = 'done' | 'busy' | { readonly applied: readonly string[] }

/** Applies the first migration that is missing. */
async function applyNext(database: Database, schema: string, migrations: readonly Migration[]): Promise<Step> {
  const step = await database.transaction(async (tx): Promise<Step | Migration> => {
    await boundWaits(tx)
    if (!(await tryLock(tx, 'pg_try_advisory_xact_lock', schema))) return 'busy'
    await tx.query(`
      CREATE SCHEMA IF NOT EXISTS ${schema};
      CREATE TABLE IF NOT EXISTS ${schema}.migration (
        name text PRIMARY KEY,
        checksum text NOT NULL,
        breaks_older boolean NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
      )`)
    const applied = await readApplied(tx, schema)
    refuseUnusable(schema, applied, migrations)
    const missing = migrations.find(({ name }) => !applied.has(name))
    if (!missing) return 'done'
    if (missing.indexes && database.engine === 'postgres') return missing
    const sql = missing.indexes ? missing.sql.replace(/\bCONCURRENTLY\b/gi, '') : missing.sql
    // One after the other: Citus hands the whole text to its workers, which take one statement at a time.
    for (const text of splitStatements(sql)) await tx.query({ text, timeoutMs: migrationTimeoutMs })
    await record(tx, schema, missing)
    return { applied: [missing.name] }
  })
  return typeof step === 'object' && 'sql' in step ? applyIndexes(database, schema, step) : step
}

/** Bounds what the rest of a transaction waits for a lock, on the workers of Citus as well: there nothing else does. */
async function boundWaits(tx: Queryable): Promise<void> {
  await tx.query(
    "SELECT set_config('citus.propagate_set_commands', 'local', true) FROM pg_extension WHERE extname = 'citus'",
  )
  await tx.query('SET LOCAL statement_timeout = 0')
  await tx.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
}

/**
 * Makes the indexes of a migration. The lock is the session's, and nobody waits for it with a statement: that would hold
 * a snapshot, and the making of an index waits for the snapshots that were there before it.
 */
function applyIndexes(database: Database, schema: string, migration: Migration): Promise<Step> {
  return database.session(async (session) => {
    await session.query(`SET statement_timeout = ${migrationTimeoutMs}; SET lock_timeout = 0`)
    if (!(await tryLock(session, 'pg_try_advisory_lock', schema))) return 'busy'
    if ((await readApplied(session, schema)).has(migration.name)) return { applied: [] }
    await buildIndexes(session, migration.indexes ?? [], migrationTimeoutMs)
    await record(session, schema, migration)
    return { applied: [migration.name] }
  })
}

/**
 * Takes the lock of a schema's migrations for as long as the session lasts: {@link migrate} waits meanwhile, in every
 * process. False where another has it.
 */
export function tryLockMigrations(session: Queryable, schema: string): Promise<boolean> {
  return tryLock(session, 'pg_try_advisory_lock', schema)
}

/** Takes the lock of a schema's migrations where it is free. */
async function tryLock(on: Queryable, take: string, schema: string): Promise<boolean> {
  const { rows } = await on.query<{ locked: boolean }>(`SELECT ${take}(hashtext($1)) AS locked`, [
    `gatehouse migrations of ${schema}`,
  ])
  return rows[0]?.locked === true
}

async function record(on: Queryable, schema: string, { name, checksum, breaksOlder }: Migration): Promise<void> {
  await on.query(`INSERT INTO ${schema}.migration (name, checksum, breaks_older) VALUES ($1, $2, $3)`, [
    name,
    checksum,
    breaksOlder,
  ])
}

async function readMigrations(directory: URL): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, directory), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { name, sql, checksum, breaksOlder: sql.startsWith(breaksOlderLine), indexes: indexStatements(name, sql) }
    }),
  )
}

interface Applied {
  readonly name: string
  readonly checksum: string
  readonly breaks_older: boolean
}

async function readApplied(on: Queryable, schema: string): Promise<Map<string, Applied>> {
  const { rows } = await on.query<Applied>(`SELECT name, checksum, breaks_older FROM ${schema}.migration`)
  return new Map(rows.map((row) => [row.name, row]))
}

function refuseUnusable(schema: string, applied: ReadonlyMap<string, Applied>, migrations: readonly Migration[]): void {
  const known = new Map(migrations.map(({ name, checksum }) => [name, checksum]))
  for (const { name, checksum, breaks_older: breaksOlder } of applied.values()) {
    if (!known.has(name) && breaksOlder)
      throw new StartError(
        `the database's schema ${schema} is too new for this program: ${name} breaks older versions.`,
      )
    if (known.has(name) && known.get(name) !== checksum)
      throw new StartError(`migration ${schema}/${name} was changed after it was applied.`)
  }
}
