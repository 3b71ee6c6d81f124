import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { Database, Transaction } from './database.ts'
import { StartError } from './start-error.ts'

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

/**
 * Brings `schema` up to date with the `NNNN-what.sql` files of `directory`, in order, in one transaction; processes
 * that start together wait for one another. Throws {@link StartError} when an applied file was changed, or when the
 * database is newer than this program.
 */
export async function migrate(database: Database, schema: string, directory: URL): Promise<string[]> {
  const migrations = await readMigrations(directory)
  return database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`gatehouse migrations of ${schema}`])
    await tx.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    await tx.query(
      `CREATE TABLE IF NOT EXISTS ${schema}.migration (name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    )
    const applied = await appliedTo(tx, schema)
    refuseStrangers(schema, applied, migrations)
    const missing = migrations.filter(({ name }) => !applied.has(name))
    for (const { name, sql, checksum } of missing) {
      await tx.query(sql)
      await tx.query(`INSERT INTO ${schema}.migration (name, checksum) VALUES ($1, $2)`, [name, checksum])
    }
    return missing.map(({ name }) => name)
  })
}

async function readMigrations(directory: URL): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, directory), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function appliedTo(tx: Transaction, schema: string): Promise<Map<string, string>> {
  const { rows } = await tx.query<{ name: string; checksum: string }>(`SELECT name, checksum FROM ${schema}.migration`)
  return new Map(rows.map(({ name, checksum }) => [name, checksum]))
}

function refuseStrangers(schema: string, applied: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const known = new Map(migrations.map(({ name, checksum }) => [name, checksum]))
  for (const [name, checksum] of applied) {
    if (!known.has(name))
      throw new StartError(`the database's schema ${schema} is newer than this program: it has ${name}.`)
    if (known.get(name) !== checksum)
      throw new StartError(`migration ${schema}/${name} was changed after it was applied.`)
  }
}
