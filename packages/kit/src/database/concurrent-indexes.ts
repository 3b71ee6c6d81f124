import { StartError } from '../start-error.ts'
import type { Queryable } from './database.ts'
import { splitStatements } from './statements.ts'

/** A statement that runs outside a transaction, and lets everybody read and write meanwhile. */
export interface IndexStatement {
  readonly sql: string
  /** The index with its schema. */
  readonly index: string
  readonly creates: boolean
}

const creating = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON (\w+)\.\w+\s/i
const dropping = /^DROP INDEX CONCURRENTLY IF EXISTS (\w+\.\w+)$/i

/**
 * The statements of a migration that makes or drops indexes `CONCURRENTLY`, undefined for any other. Such a migration
 * is nothing else: what runs outside a transaction can stop in between, and each of its statements must bear a repetition.
 *
 * @throws StartError naming the file and a statement of another kind
 */
export function indexStatements(file: string, sql: string): readonly IndexStatement[] | undefined {
  const statements = splitStatements(sql).map((statement) => statement.replace(/\s+/g, ' '))
  if (!statements.some((statement) => /\bCONCURRENTLY\b/i.test(statement))) return undefined
  return statements.map((statement) => {
    const [, name, schema] = creating.exec(statement) ?? []
    if (name !== undefined) return { sql: statement, index: `${schema}.${name}`, creates: true }
    const [, index] = dropping.exec(statement) ?? []
    if (index !== undefined) return { sql: statement, index, creates: false }
    throw new StartError(
      `migration ${file} is not run in a transaction: it may hold CREATE [UNIQUE] INDEX CONCURRENTLY name ON schema.table … ` +
        `and DROP INDEX CONCURRENTLY IF EXISTS schema.name alone, not "${statement.slice(0, 60)}".`,
    )
  })
}

/**
 * Makes and drops indexes while others work. An index that is there and valid is left alone; an invalid one, which a
 * statement leaves that failed or whose process died, is dropped and made again. `timeoutMs` is for each statement.
 */
export async function buildIndexes(
  session: Queryable,
  statements: readonly IndexStatement[],
  timeoutMs: number,
): Promise<void> {
  for (const { sql, index, creates } of statements) {
    if (creates) {
      const isValid = await validityOf(session, index)
      if (isValid) continue
      if (isValid === false) await session.query({ text: `DROP INDEX CONCURRENTLY ${index}`, timeoutMs })
    }
    await session.query({ text: sql, timeoutMs })
  }
}

/** Undefined for an index that isn't there. */
async function validityOf(session: Queryable, index: string): Promise<boolean | undefined> {
  const { rows } = await session.query<{ valid: boolean }>(
    'SELECT indisvalid AND indisready AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [index],
  )
  return rows[0]?.valid
}
