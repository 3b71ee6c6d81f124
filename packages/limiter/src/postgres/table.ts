import type { Row } from './row.ts'

/** Runs SQL with parameters `$1 …`. */
export interface SqlHandle {
  /** Runs one statement; row counts are numbers. */
  query<R extends object>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: R[]; readonly rowCount: number }>
}

/** A pool of connections to PostgreSQL, such as the one of `@gatehouse/kit`. */
export interface SqlDatabase extends SqlHandle {
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T>
}

/** Rows by their keys, and the database's time in Unix milliseconds after the last of them was locked or read. */
export interface LockedRows {
  readonly rows: ReadonlyMap<string, Row>
  readonly now: number
}

interface CounterRow {
  readonly key: string
  readonly previous: number
  readonly current: number
  readonly at: number | string | null
  readonly now: number
}

const maxRowsPerPurge = 1_000
const maxPurges = 10

const clock = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::float8'

const lockText = `
  INSERT INTO limiter.counter AS stored (key, expires_at)
  SELECT key, clock_timestamp() + interval '1 minute' FROM unnest($1::text[]) AS wanted (key)
  ON CONFLICT (key) DO UPDATE SET expires_at = greatest(stored.expires_at, excluded.expires_at)
  RETURNING key, previous, current, at, ${clock} AS now`

const readText = `
  SELECT wanted.key, coalesce(previous, 0) AS previous, coalesce(current, 0) AS current, at, ${clock} AS now
  FROM unnest($1::text[]) AS wanted (key) LEFT JOIN limiter.counter USING (key)`

const writeText = `
  UPDATE limiter.counter AS stored
  SET previous = changed.previous, current = changed.current, at = changed.at,
    expires_at = to_timestamp(changed.kept_until / 1000)
  FROM unnest($1::text[], $2::float8[], $3::float8[], $4::bigint[], $5::float8[])
    AS changed (key, previous, current, at, kept_until)
  WHERE stored.key = changed.key AND ($6::float8 IS NULL OR clock_timestamp() <= to_timestamp($6 / 1000))`

const purgeText = `
  DELETE FROM limiter.counter WHERE key IN (
    SELECT key FROM limiter.counter WHERE expires_at < coalesce(to_timestamp($1::float8 / 1000), clock_timestamp())
    ORDER BY expires_at LIMIT ${maxRowsPerPurge} FOR UPDATE SKIP LOCKED)`

/** Creates and locks the rows of these sorted keys, in their order, so that no two transactions wait for each other. */
export async function lockRows(tx: SqlHandle, keys: readonly string[]): Promise<LockedRows> {
  return toLockedRows((await tx.query<CounterRow>(lockText, [keys])).rows)
}

/** The rows as they are, without a lock. */
export async function readRows(database: SqlHandle, keys: readonly string[]): Promise<LockedRows> {
  return toLockedRows((await database.query<CounterRow>(readText, [keys])).rows)
}

/**
 * Writes the rows that were changed.
 *
 * @throws Error when the statement runs later than after `leftMs`, by the clock of the database
 */
export async function writeRows(tx: SqlHandle, { rows, now }: LockedRows, leftMs: number | undefined): Promise<void> {
  const changed = [...rows.values()].filter(({ keptUntil }) => keptUntil > 0)
  if (changed.length === 0) return
  const { rowCount } = await tx.query(writeText, [
    changed.map(({ key }) => key),
    changed.map(({ previous }) => previous),
    changed.map(({ current }) => current),
    changed.map(({ at }) => at),
    changed.map(({ keptUntil }) => keptUntil),
    leftMs === undefined ? null : now + leftMs,
  ])
  if (rowCount < changed.length) throw new Error('the counters reached the database too late and were not changed')
}

/**
 * Deletes a bounded number of rows that have expired by the clock of the database, or at `now` (Unix milliseconds). True
 * when more may be left.
 */
export async function purgeRows(database: SqlHandle, now?: number): Promise<boolean> {
  for (let purges = 0; purges < maxPurges; purges++) {
    if ((await database.query(purgeText, [now ?? null])).rowCount < maxRowsPerPurge) return false
  }
  return true
}

/** What bounds the size of each table of the schema `limiter`. */
export const limiterTables = [
  {
    table: 'counter',
    bound: '`expires_at`',
    kept: 'twice the longest window of its policy',
  },
] as const

function toLockedRows(found: readonly CounterRow[]): LockedRows {
  const rows = found.map(({ key, previous, current, at }): [string, Row] => [
    key,
    { key, previous, current, at: at === null ? null : Number(at), keptUntil: 0 },
  ])
  return { rows: new Map(rows), now: Math.max(0, ...found.map(({ now }) => now)) }
}
