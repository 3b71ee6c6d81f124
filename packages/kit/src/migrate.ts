import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Database, Transaction } from './database.ts'
import { sqlState } from './database-error.ts'
import { StartError } from './start-error.ts'

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
  /** Whether programs that do not know this migration can't work on what it leaves. */
  readonly breaksOlder: boolean
}

/** The first line of a migration that takes away or changes what an older program uses. */
const breaksOlderLine = '-- breaks older versions'

/** A migration may take long; what it may not do is wait long for a lock, while everybody else queues behind it. */
const migrationTimeoutMs = 60 * 60_000
const lockTimeoutMs = 3_000
const maxLockWaits = 100

const lockNotAvailable = '55P03'

/**
 * Brings `schema` up to date with the `NNNN-what.sql` files of `directory`, in order, each in a transaction of its own;
 * processes that start together wait for one another. A lock that is not free within three seconds is waited for anew,
 * so that the statements of running processes pass in between. A database that is newer is accepted, unless one of the
 * migrations that this program does not know breaks older versions.
 *
 * @returns the names of the migrations that this call applied
 * @throws StartError when an applied file was changed, or the database is too new for this program
 */
export async function migrate(database: Database, schema: string, directory: URL): Promise<string[]> {
  const migrations = await readMigrations(directory)
  const applied: string[] = []
  for (let waits = 0; ; ) {
    try {
      const name = await applyNext(database, schema, migrations)
      if (name === undefined) return applied
      applied.push(name)
      waits = 0
    } catch (error) {
      if (sqlState(error) !== lockNotAvailable || ++waits >= maxLockWaits) throw error
    }
  }
}

/** Applies the first migration that is missing; answers its name, or undefined when there is none. */
async function applyNext(
  database: Database,
  schema: string,
  migrations: readonly Migration[],
): Promise<string | undefined> {
  return database.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${lockTimeoutMs}`)
    await tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`gatehouse migrations of ${schema}`])
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
    if (!missing) return undefined
    const { name, sql, checksum, breaksOlder } = missing
    await tx.query({ text: sql, timeoutMs: migrationTimeoutMs })
    await tx.query(`INSERT INTO ${schema}.migration (name, checksum, breaks_older) VALUES ($1, $2, $3)`, [
      name,
      checksum,
      breaksOlder,
    ])
    return name
  })
}

async function readMigrations(directory: URL): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, directory), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { name, sql, checksum, breaksOlder: sql.startsWith(breaksOlderLine) }
    }),
  )
}

interface Applied {
  readonly name: string
  readonly checksum: string
  readonly breaks_older: boolean
}

async function readApplied(tx: Transaction, schema: string): Promise<Map<string, Applied>> {
  const { rows } = await tx.query<Applied>(`SELECT name, checksum, breaks_older FROM ${schema}.migration`)
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
