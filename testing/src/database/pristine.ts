import { isDeepStrictEqual } from 'node:util'
import type { PGlite } from '@electric-sql/pglite'

/** All that a test may change in a database: what there is, and the rows of each table. */
export interface State {
  readonly catalogs: object
  readonly sequences: readonly Sequence[]
  /** By name. */
  readonly tables: Readonly<Record<string, Table>>
}

interface Table {
  /** As JSON; null when it is empty. */
  readonly rows: string | null
  /** What a row is inserted with: a generated column takes no value. */
  readonly columns: string
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
/** The age of a row that is older than every transaction. */
const frozen = 2_147_483_647
const catalogState = [
  ...catalogs.map(
    (name) => `(SELECT concat(count(*), ' ', next - nullif(min(age(xmin)), ${frozen})) FROM pg_${name}) AS ${name}`,
  ),
  `(SELECT md5(string_agg(concat_ws(' ', oid, relname, relowner, relacl, reloptions, relrowsecurity), ',' ORDER BY oid))
    FROM pg_class) AS class`,
  `(SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings) AS settings`,
].join(', ')

const ours = "NOT IN ('pg_catalog', 'information_schema')"
/** A larger table is truncated: to delete its rows leaves it as large as it was. */
const maxDeletedBytes = 256 * 1024

export async function readState(pglite: PGlite): Promise<State> {
  const columns = await readColumns(pglite)
  const contents = await readContents(pglite, Object.keys(columns))
  return {
    catalogs: await readCatalogs(pglite),
    sequences: await readSequences(pglite),
    tables: Object.fromEntries(
      Object.entries(columns).map(([name, list]) => [name, { rows: contents[name] ?? null, columns: list }]),
    ),
  }
}

async function readCatalogs(pglite: PGlite): Promise<object> {
  const next = '(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next)'
  const [state = {}] = (await pglite.query<object>(`SELECT ${catalogState} FROM ${next} AS transactions`)).rows
  return state
}

async function readSequences(pglite: PGlite): Promise<Sequence[]> {
  const { rows } = await pglite.query<Sequence>(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, start_value AS start, last_value AS last
     FROM pg_sequences WHERE schemaname ${ours} ORDER BY 1`,
  )
  return rows
}

/** The tables, each with the columns that are written. */
async function readColumns(pglite: PGlite): Promise<Record<string, string>> {
  const { rows } = await pglite.query<{ name: string; columns: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
     FROM pg_tables JOIN pg_attribute ON attrelid = format('%I.%I', schemaname, tablename)::regclass
     WHERE schemaname ${ours} AND attnum > 0 AND NOT attisdropped AND attgenerated = '' GROUP BY 1 ORDER BY 1`,
  )
  return Object.fromEntries(rows.map(({ name, columns }) => [name, columns]))
}

async function readContents(pglite: PGlite, tables: readonly string[]): Promise<Record<string, string | null>> {
  const rows = tables.map((name) => `(SELECT json_agg(t)::text FROM ${name} AS t) AS "${name}"`)
  const [contents = {}] = (await pglite.query<Record<string, string | null>>(`SELECT ${rows.join(', ')}`)).rows
  return contents
}

/** Puts everything back as it was; false when a test changed what cannot be put back, as the tables themselves. */
export async function restore(pglite: PGlite, pristine: State): Promise<boolean> {
  const { rows: listening } = await pglite.query<{ channel: string }>('SELECT pg_listening_channels() AS channel')
  for (const { channel } of listening) await pglite.unlisten(channel)
  await pglite.exec('DISCARD ALL')
  if (!isDeepStrictEqual(await readCatalogs(pglite), pristine.catalogs)) return false
  await empty(pglite, Object.keys(pristine.tables))
  for (const [name, { rows, columns }] of Object.entries(pristine.tables))
    if (rows !== null)
      await pglite.query(
        `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
         SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1)`,
        [rows],
      )
  const changed = (await readSequences(pglite)).filter((now, at) => !isDeepStrictEqual(now, pristine.sequences[at]))
  for (const { name } of changed) {
    const { start, last } = pristine.sequences.find((one) => one.name === name) ?? { start: 1, last: null }
    await pglite.query('SELECT setval($1::regclass, $2, $3)', [name, last ?? start, last !== null])
  }
  const contents = await readContents(pglite, Object.keys(pristine.tables))
  return Object.entries(pristine.tables).every(([name, { rows }]) => contents[name] === rows)
}

/** Takes the rows of all tables away. Without their triggers, and so in any order. */
async function empty(pglite: PGlite, tables: readonly string[]): Promise<void> {
  const looks = tables.map(
    (name) => `(SELECT CASE WHEN EXISTS (SELECT FROM ${name}) THEN pg_table_size('${name}') END) AS "${name}"`,
  )
  const [sizes = {}] = (await pglite.query<Record<string, number | null>>(`SELECT ${looks.join(', ')}`)).rows
  const full = tables.filter((name) => sizes[name] !== null)
  const large = full.filter((name) => Number(sizes[name]) > maxDeletedBytes)
  await pglite.exec(
    [
      'BEGIN; SET LOCAL session_replication_role = replica',
      ...full.filter((name) => !large.includes(name)).map((name) => `DELETE FROM ${name}`),
      ...(large.length > 0 ? [`TRUNCATE ${large.join(', ')} CASCADE`] : []),
      'COMMIT',
    ].join('; '),
  )
}
