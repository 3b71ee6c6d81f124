import { createHash } from 'node:crypto'
import type { Database, Statements, Transaction } from './database.ts'

/** Something the configuration file declares: what kind of thing, under which id, with what in it. */
export interface Declaration<Entry> {
  readonly id: string
  readonly entry: Entry
  /** The same as it may have been written down before, where the entry depends on an encryption key. */
  readonly formerly?: readonly Entry[] | undefined
}

/** The kind of what is declared, in the schema of a service. */
export interface DeclaredKind {
  readonly schema: string
  readonly kind: string
}

/**
 * Applies what the configuration declares to the store, last edit wins: an entry that is new or was edited in the file
 * since it was last applied is written; one that stands as it was is left alone, so that what was changed (or deleted)
 * at run time stays. Needs the table `<schema>.declared (kind, id, checksum, applied_at, in_file)`. Returns the ids it
 * wrote.
 */
export async function applyDeclared<Entry>(
  database: Pick<Statements, 'query' | 'transaction'>,
  { schema, kind }: DeclaredKind,
  declarations: ReadonlyArray<Declaration<Entry>>,
  write: (tx: Transaction, id: string, entry: Entry) => Promise<void>,
): Promise<string[]> {
  const written: string[] = []
  for (const { id, entry, formerly = [] } of declarations) {
    const checksum = checksumOf(entry)
    const edited = await database.transaction(async (tx) => {
      if (formerly.length > 0) {
        await tx.query(
          `UPDATE ${schema}.declared SET checksum = $3 WHERE kind = $1 AND id = $2 AND checksum = ANY($4::text[])`,
          [kind, id, checksum, formerly.map(checksumOf)],
        )
      }
      const claimed = await tx.query(
        `INSERT INTO ${schema}.declared (kind, id, checksum, applied_at) VALUES ($1, $2, $3, 0)
         ON CONFLICT (kind, id) DO UPDATE SET checksum = excluded.checksum WHERE ${schema}.declared.checksum <> excluded.checksum`,
        [kind, id, checksum],
      )
      if (claimed.rowCount === 0) return false
      await write(tx, id, entry)
      const applied = `UPDATE ${schema}.declared SET applied_at = $3 WHERE kind = $1 AND id = $2`
      await tx.query(applied, [kind, id, Date.now()])
      return true
    })
    if (edited) written.push(id)
  }
  const present = `UPDATE ${schema}.declared SET in_file = (id = ANY($2::text[]))
    WHERE kind = $1 AND in_file <> (id = ANY($2::text[]))`
  await database.query(present, [kind, declarations.map(({ id }) => id)])
  return written
}

/** Where what is declared is stored, to compare it with the file. */
export interface DeclaredEntity extends DeclaredKind {
  /** The table, as `e` in the other members. */
  readonly table: string
  /** SQL: whether a row is the one with the id `d.id` of the declaration. */
  readonly match: string
  /** SQL: when the row was changed last, in Unix milliseconds. */
  readonly changedAt: string
}

/** Something that is not as the file declares it: it was changed, or deleted, since the file was applied. */
export interface Drift extends DeclaredKind {
  readonly id: string
  /** When the file was applied, in Unix milliseconds. */
  readonly appliedAt: number
  /** Undefined for what was deleted. */
  readonly changedAt: number | undefined
}

const maxDrift = 200

/** Finds what was changed at run time since the file was applied, at most 200 of each kind. */
export async function findDrift(database: Database, entities: readonly DeclaredEntity[]): Promise<Drift[]> {
  const found = entities.map(async ({ schema, kind, table, match, changedAt }) => {
    const { rows } = await database.query<{ id: string; applied_at: number; changed_at: number | null }>(
      `SELECT d.id, d.applied_at, max(${changedAt}) AS changed_at FROM ${schema}.declared d LEFT JOIN ${table} e ON ${match}
        WHERE d.kind = $1 AND d.in_file GROUP BY d.id, d.applied_at
       HAVING max(${changedAt}) IS NULL OR max(${changedAt}) > d.applied_at ORDER BY d.id LIMIT ${maxDrift}`,
      [kind],
    )
    return rows.map(({ id, applied_at: appliedAt, changed_at }) => {
      return { schema, kind, id, appliedAt, changedAt: changed_at ?? undefined }
    })
  })
  return (await Promise.all(found)).flat()
}

function checksumOf(entry: unknown): string {
  return createHash('sha256').update(JSON.stringify(entry)).digest('hex')
}
