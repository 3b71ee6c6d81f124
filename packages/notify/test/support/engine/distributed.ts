/**
 * Databases of a Citus cluster for tests. Copying one takes seconds on every node, so a test leaves its database, emptied,
 * to the next test of its process.
 */
import { type Database, migrate, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { copyCitusDatabase, createCitusDatabase, dropCitusDatabase, openCitusDatabase } from '@gatehouse/testing'
import { distributeTables } from '../../../src/postgres/distribution/distribute.ts'
import { migrations } from '../../../src/postgres/distribution/migrate.ts'

/** A cluster, and the database in it that is copied. */
export interface Cluster {
  readonly nodes: readonly string[]
  readonly template: string
}

interface Emptied {
  readonly url: string
  readonly definitions: string
}

const free: Emptied[] = []
let isWatched = false

/** What there is but rows: whoever changes it, as by a trigger, leaves the database to nobody. */
const definitionsSql = `
SELECT md5(concat_ws(' ',
  (SELECT string_agg(concat(relname, relkind) || coalesce(array_to_string(reloptions, ','), ''), ',' ORDER BY relname)
     FROM pg_class WHERE relnamespace = 'notify'::regnamespace),
  (SELECT string_agg(concat_ws('.', attrelid::regclass, attname, atttypid, attnotnull), ',' ORDER BY attrelid, attnum)
     FROM pg_attribute JOIN pg_class ON oid = attrelid WHERE relnamespace = 'notify'::regnamespace AND attnum > 0),
  (SELECT string_agg(md5(prosrc), ',' ORDER BY oid) FROM pg_proc
    WHERE pronamespace IN ('notify'::regnamespace, 'public'::regnamespace)),
  (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_constraint),
  (SELECT string_agg(array_to_string(setconfig, ','), ',') FROM pg_db_role_setting WHERE setdatabase <> 0))) AS definitions`

async function readDefinitions(database: Database): Promise<string> {
  const { rows } = await database.query<{ definitions: string }>(definitionsSql)
  return rows[0]?.definitions ?? ''
}

/** As a migration leaves the tables: these have rows, all others none. */
const restoreSql: Readonly<Record<string, string>> = {
  property: "DELETE FROM notify.property WHERE name <> 'settings_version'; UPDATE notify.property SET value = 1",
  worker_generation: 'UPDATE notify.worker_generation SET generation = 0',
  state_change_position: 'UPDATE notify.state_change_position SET sequence = 0, holder = NULL, lease_until = NULL',
}

async function empty(database: Database): Promise<void> {
  const { rows } = await database.query<{ table: string }>(
    `SELECT relname AS table FROM pg_class
      WHERE relnamespace = 'notify'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migration' ORDER BY relname`,
  )
  for (const { table } of rows) {
    const statements = restoreSql[table]?.split('; ') ?? [`DELETE FROM notify.${table}`]
    for (const statement of statements) await database.query(statement)
  }
}

/** Citus has processes of its own in each database. */
async function dropAll(nodes: readonly string[]): Promise<void> {
  for (const { url } of free.splice(0)) await dropCitusDatabase(nodes, url)
}

/** A database with the distributed tables, all empty, and no number of buckets yet. */
export async function distributedDatabase(
  { nodes, template }: Cluster,
  connections: number | undefined,
): Promise<Database> {
  if (!isWatched) process.once('beforeExit', () => dropAll(nodes))
  isWatched = true
  const emptied = free.pop()
  const url = emptied?.url ?? (await copyCitusDatabase(nodes, template))
  const database = await openCitusDatabase(url, connections)
  const definitions = emptied?.definitions ?? (await readDefinitions(database))
  return {
    ...database,
    async close() {
      await database.close()
      const again = await openCitusDatabase(url, 1)
      const isSame = (await readDefinitions(again)) === definitions
      if (isSame) await empty(again)
      await again.close()
      if (isSame) free.push({ url, definitions })
      else await dropCitusDatabase(nodes, url)
    },
  }
}

/** A database to be copied by {@link distributedDatabase}; returns its address. */
export async function createDistributedTemplate(nodes: readonly string[]): Promise<string> {
  const url = await createCitusDatabase(nodes)
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  await migrate(database, 'notify', migrations)
  await database.session(distributeTables)
  await database.close()
  return url
}
