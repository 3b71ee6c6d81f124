import type { Database, Query } from '@gatehouse/kit'
import { at } from '../nodes/spread-database.ts'
import type { BucketScope } from './buckets.ts'
import { columns, literal } from './columns.ts'

type Value = string | number | boolean | null

/** As many as `notify.run_at_once` hands on. */
const maxValues = 16

/** A statement of {@link runAtOnce}. Each `$n` has a cast to its type, for the values travel as text; there are at most 16. */
export interface Statement {
  readonly text: string
  readonly values: ReadonlyArray<Value | readonly Value[]>
  /** It answers one boolean; unless that is true, nothing of the whole is written. */
  readonly precondition?: true
}

/**
 * Runs statements in one transaction, in order, each on a snapshot of its own, on one message to the server, which
 * commits before it reads on: a client that stops at any point, or a network that does, leaves no lock behind. Always
 * planned for the tables as they are now. A database's own method, not a transaction's. Statements for one bucket of a
 * distributed database name it.
 *
 * @returns the guard that did not hold, where there is one; nothing was written then
 */
export async function runAtOnce(
  database: Database,
  statements: readonly Statement[],
  { bucket }: Pick<BucketScope, 'bucket'> = {},
): Promise<Statement | undefined> {
  const tooLong = statements.find(({ values }) => values.length > maxValues)
  if (tooLong)
    throw new Error(`a statement has ${tooLong.values.length} values, and may have ${maxValues}: ${tooLong.text}`)
  const query = bucket === undefined ? callHere(statements) : callOnNode(bucket, statements)
  const { rows } = await at(database, bucket).query<{ failed: number }>(query)
  const [{ failed } = { failed: 0 }] = rows
  return statements[failed - 1]
}

function callHere(statements: readonly Statement[]): Query {
  const parameters = statements.flatMap(({ values }) => values.map(textOf))
  const slots = parameters.map((_, index) => `$${index + 4}`).join(', ')
  return {
    name: `notify_at_once_${parameters.length}`,
    text: `CALL notify.run_at_once(0::smallint, $1, $2, $3, ARRAY[${slots}]::text[], NULL)`,
    values: [
      statements.map(({ text }) => text),
      statements.map(({ values }) => values.length),
      statements.map(({ precondition = false }) => precondition),
      ...parameters,
    ],
  }
}

/** A distributed engine hands a call over to the node of its bucket only where all that it is given is written out. */
function callOnNode(bucket: number, statements: readonly Statement[]): Query {
  const parameters = statements.flatMap(({ values }) => values.map(textOf))
  const texts = statements.map(({ text }) => literal(text))
  const counts = statements.map(({ values }) => values.length)
  const preconditions = statements.map(({ precondition = false }) => precondition)
  return {
    text: `CALL notify.run_at_once('${bucket}', ARRAY[${texts.join(',')}], ARRAY[${counts.join(',')}],
      ARRAY[${preconditions.join(',')}], ARRAY[${parameters.map(literal).join(',')}]::text[], NULL)`,
  }
}

function textOf(value: Value | readonly Value[]): string | null {
  if (Array.isArray(value)) return columns(value as readonly Value[], (each) => each)[0] ?? null
  return value === null ? null : String(value)
}
