import { isDeepStrictEqual } from 'node:util'
import type { PGlite } from '@electric-sql/pglite'

/** All that a test may change in a database: what there is, and the rows of each table. */
export interface State {
  readonly catalogs: object
  readonly sequences: readonly Sequence[]
  /** By table, its rows as JSON; null when it is empty. */
  readonly tables: Readonly<Record<string, string | null>>
}

interface Sequence {
  readonly name: string
  readonly start: number
  readonly last: number | null
}

/** A change to what they describe gives a row of them another `xmin`; only `pg_class` is also written by TRUNCATE. */
const catalogs = [
  ...['attrdef', 'attribute', 'auth_members', 'authid', 'cast', 'collation', 'constraint', 'db_role_setting'],
  ...['default_acl', 'enum', 'event_trigger', 'extension', 'index', 'inherits', 'language', 'largeobject_metadata'],
  ...['namespace', 'operator', 'policy', 'proc', 'publication', 'rewrite', 'sequence', 'statistic', 'statistic_ext'],
  ...['trigger', 'ts_config', 'type'],
]
const catalogState = [
  ...catalogs.map((name) => `(SELECT concat(count(*), ' ', sum(xmin::text::bigint)) FROM pg_${name}) AS ${name}`),
  `(SELECT md5(string_agg(concat_ws(' ', oid, relname, relowner, relacl, reloptions, relrowsecurity), ',' ORDER BY oid))
    FROM pg_class) AS class`,
  `(SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings) AS settings`,
].join(', ')

const ours = "NOT IN ('pg_catalog', 'information_schema')"

export async function readState(pglite: PGlite): Promise<State> {
  const catalogs = await readCatalogs(pglite)
  const { rows: sequences } = await pglite.query<Sequence>(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, start_value AS start, last_value AS last
     FROM pg_sequences WHERE schemaname ${ours} ORDER BY 1`,
  )
  const names = await tables(pglite)
  const rows = names.map((name) => `(SELECT json_agg(t)::text FROM ${name} AS t) AS "${name}"`)
  const [contents = {}] = (await pglite.query<Record<string, string | null>>(`SELECT ${rows.join(', ')}`)).rows
  return { catalogs, sequences, tables: contents }
}

async function readCatalogs(pglite: PGlite): Promise<object> {
  const [state = {}] = (await pglite.query<object>(`SELECT ${catalogState}`)).rows
  return state
}

async function tables(pglite: PGlite): Promise<string[]> {
  const { rows } = await pglite.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname ${ours} ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

/** Puts everything back as it was; false when a test changed what cannot be put back, as the tables themselves. */
export async function restore(pglite: PGlite, pristine: State): Promise<boolean> {
  const { rows: listening } = await pglite.query<{ channel: string }>('SELECT pg_listening_channels() AS channel')
  for (const { channel } of listening) await pglite.unlisten(channel)
  await pglite.exec('DISCARD ALL')
  if (!isDeepStrictEqual(await readCatalogs(pglite), pristine.catalogs)) return false
  const names = Object.keys(pristine.tables)
  const filled = names.map((name) => `EXISTS (SELECT FROM ${name}) AS "${name}"`)
  const [found = {}] = (await pglite.query<Record<string, boolean>>(`SELECT ${filled.join(', ')}`)).rows
  const full = names.filter((name) => found[name])
  if (full.length > 0) await pglite.exec(`TRUNCATE ${full.join(', ')} CASCADE`)
  for (const [name, rows] of Object.entries(pristine.tables)) {
    if (rows === null) continue
    const columns = await writtenColumns(pglite, name)
    await pglite.query(
      `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
       SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1)`,
      [rows],
    )
  }
  for (const { name, start, last } of pristine.sequences)
    await pglite.query('SELECT setval($1::regclass, $2, $3)', [name, last ?? start, last !== null])
  return JSON.stringify(await readState(pglite)) === JSON.stringify(pristine)
}

/** A generated column takes no value. */
async function writtenColumns(pglite: PGlite, table: string): Promise<string> {
  const { rows } = await pglite.query<{ columns: string }>(
    `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  )
  return rows[0]?.columns ?? ''
}
