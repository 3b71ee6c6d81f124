import { createHash } from 'node:crypto'
import type { Database, Transaction } from './database.ts'

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
 * at run time stays. Needs the table `<schema>.declared (kind, id, checksum)`. Returns the ids it wrote.
 */
export async function applyDeclared<Entry>(
  database: Database,
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
        `INSERT INTO ${schema}.declared (kind, id, checksum) VALUES ($1, $2, $3)
         ON CONFLICT (kind, id) DO UPDATE SET checksum = excluded.checksum WHERE ${schema}.declared.checksum <> excluded.checksum`,
        [kind, id, checksum],
      )
      if (claimed.rowCount === 0) return false
      await write(tx, id, entry)
      return true
    })
    if (edited) written.push(id)
  }
  return written
}

function checksumOf(entry: unknown): string {
  return createHash('sha256').update(JSON.stringify(entry)).digest('hex')
}
