import { type KeyRing, sealingKeyId } from '../secrets/key-ring.ts'
import { seal, unseal } from '../secrets/seal.ts'
import { StartError } from '../start-error.ts'
import type { Database } from './database.ts'

/** A column whose values are sealed under a {@link KeyRing}. The names are ours, never from outside. */
export interface SealedColumn {
  /** With its schema. */
  readonly table: string
  /** The primary key, and its type. */
  readonly id: string
  readonly idType: 'text' | 'uuid'
  readonly sealed: string
  /** What the value of that row is sealed for. */
  readonly purpose: (id: string) => string
}

/** What {@link reseal} did to a column, and what it left behind. */
export interface Resealed {
  readonly table: string
  /** Values that this call sealed with the current key. */
  readonly resealed: number
  /** How many values are sealed with other keys than the current one, by the id of the key. */
  readonly remaining: Readonly<Record<string, number>>
}

const batchSize = 200

/**
 * Seals every value of a column with the ring's current key. In batches, each one statement; a value that was changed or
 * removed meanwhile is left alone, so that it may run beside the program and beside itself, and again after it was stopped.
 */
export async function reseal(database: Database, column: SealedColumn, ring: KeyRing): Promise<Resealed> {
  let resealed = 0
  for (let after: string | undefined; ; ) {
    const rows = await oldRows(database, column, ring, after)
    resealed += await replace(
      database,
      column,
      rows.flatMap((row) => resealedRow(row, column, ring)),
    )
    if (rows.length < batchSize) break
    after = rows.at(-1)?.id
  }
  return { table: column.table, resealed, remaining: await sealedWithout(database, column, [ring.currentId]) }
}

/**
 * Refuses to go on when a value cannot be opened, before it is needed.
 * @throws StartError naming the keys that are missing, and what was sealed with each
 */
export async function checkSealed(database: Database, columns: readonly SealedColumn[], ring: KeyRing): Promise<void> {
  const faults: string[] = []
  for (const column of columns) {
    const missing = await sealedWithout(database, column, ring.ids)
    for (const [key, count] of Object.entries(missing)) {
      faults.push(`ENCRYPTION_KEY lacks the key ${key}: ${count} of ${column.table} can't be opened without it`)
    }
  }
  if (faults.length === 0) return
  const hint = `it has ${ring.ids.join(', ')}; put the key back, and run \`gatehouse keys reseal\` before it is removed`
  throw new StartError([...faults, hint].join('\n'))
}

interface SealedRow {
  readonly id: string
  readonly sealed: string
}

async function oldRows(
  database: Database,
  { table, id, idType, sealed }: SealedColumn,
  ring: KeyRing,
  after: string | undefined,
): Promise<SealedRow[]> {
  const { rows } = await database.query<SealedRow>(
    `SELECT ${id}::text AS id, ${sealed} AS sealed FROM ${table}
     WHERE ($1::${idType} IS NULL OR ${id} > $1::${idType}) AND split_part(${sealed}, '.', 1) <> $2
     ORDER BY ${table}.${id} LIMIT $3`,
    [after ?? null, ring.currentId, batchSize],
  )
  return rows
}

interface Replacement extends SealedRow {
  readonly next: string
}

/** What can't be opened is left as it is: {@link sealedWithout} counts it. */
function resealedRow({ id, sealed }: SealedRow, { purpose }: SealedColumn, ring: KeyRing): Replacement[] {
  const keyId = sealingKeyId(sealed)
  if (keyId === undefined || ring.find(keyId) === undefined) return []
  return [{ id, sealed, next: seal(unseal(sealed, ring, purpose(id)), ring, purpose(id)) }]
}

/**
 * Rows are locked in the order of their ids, so that two of these never wait for each other. Whoever deletes many of them
 * at once may lock them in another: of a deadlock with that, this one is run again.
 */
async function replace(
  database: Database,
  { table, id, idType, sealed }: SealedColumn,
  rows: readonly Replacement[],
): Promise<number> {
  if (rows.length === 0) return 0
  const text = `WITH next AS (
       SELECT * FROM unnest($1::${idType}[], $2::text[], $3::text[]) AS next (id, before, after)
     ), locked AS (
       SELECT t.${id} AS id FROM ${table} t JOIN next ON next.id = t.${id} ORDER BY t.${id} FOR UPDATE OF t
     )
     UPDATE ${table} t SET ${sealed} = next.after FROM next JOIN locked USING (id)
     WHERE t.${id} = next.id AND t.${sealed} = next.before`
  const values = [rows.map((row) => row.id), rows.map((row) => row.sealed), rows.map(({ next }) => next)]
  const [answer] = await database.pipeline([{ text, values }])
  return answer?.rowCount ?? 0
}

/** How many values are sealed with none of these keys, by the key. */
async function sealedWithout(
  database: Database,
  { table, sealed }: SealedColumn,
  ids: readonly string[],
): Promise<Record<string, number>> {
  const { rows } = await database.query<{ key: string; count: number }>(
    `SELECT split_part(${sealed}, '.', 1) AS key, count(*) AS count FROM ${table}
     WHERE split_part(${sealed}, '.', 1) <> ALL($1::text[]) GROUP BY 1 ORDER BY 1 LIMIT 100`,
    [ids],
  )
  return Object.fromEntries(rows.map(({ key, count }) => [key.length === 8 ? key : 'unknown', count]))
}
