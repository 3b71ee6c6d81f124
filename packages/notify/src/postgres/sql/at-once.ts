import { type Database, type Query, type Rows, sqlState } from '@gatehouse/kit'
import { at } from '../nodes/spread-database.ts'
import type { BucketScope } from './buckets.ts'
import { columns, literal } from './columns.ts'
import { readTogether } from './plans.ts'

type Value = string | number | boolean | null

/** A statement that runs within the server. Each `$n` has a cast to its type, for the values travel as text. */
export interface Statement {
  readonly text: string
  readonly values: ReadonlyArray<Value | readonly Value[]>
  /** It answers one boolean; unless that is true, nothing of the whole is written. */
  readonly precondition?: true
}

/** A statement that reads. Its rows may travel as JSON: they hold no points in time. */
export type ReadStatement = Omit<Statement, 'precondition'> & Pick<Required<Query>, 'name'>

/**
 * Runs statements in one transaction, in order, each on a snapshot of its own, on one message to the server, which
 * commits before it reads on: a client that stops at any point, or a network that does, leaves no lock behind. They find
 * rows by indexes alone, and connections keep their plans, so their texts are to be few. A database's own method, not a
 * transaction's. Statements for one bucket of a distributed database name it.
 *
 * @returns the guard that did not hold, where there is one; nothing was written then
 */
export async function runAtOnce(
  database: Database,
  statements: readonly Statement[],
  { bucket }: Pick<BucketScope, 'bucket'> = {},
): Promise<Statement | undefined> {
  const query = bucket === undefined ? callHere(statements) : callOnNode(bucket, statements)
  const { rows } = await at(database, bucket).query<{ failed: number }>(query)
  const [{ failed } = { failed: 0 }] = rows
  return statements[failed - 1]
}

/**
 * Runs statements that read, in order and on one message, each on a snapshot of its own; for one bucket of a distributed
 * database on the node that has it, which keeps their plans as those of {@link runAtOnce}.
 */
export async function readAtOnce(
  database: Database,
  scope: BucketScope,
  statements: readonly ReadStatement[],
): Promise<ReadonlyArray<Pick<Rows<object>, 'rows'>>> {
  const { bucket } = scope
  if (bucket === undefined) return readTogether(database, scope, statements)
  const { texts, counts, parameters } = literalsOf(statements)
  const text = `CALL notify.read_at_once('${bucket}', ${texts}, ${counts}, ${parameters}, NULL)`
  const { rows } = await at(database, bucket).query<{ answers: object[][] }>({ text })
  return (rows[0]?.answers ?? []).map((answer) => ({ rows: answer }))
}

/** SQLSTATEs of a serialization failure and of a deadlock. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Whether {@link runAtOnce} failed since others were at the same rows: nothing was written. */
export function isConflict(error: unknown): boolean {
  return conflicts.has(sqlState(error) ?? '')
}

function callHere(statements: readonly Statement[]): Query {
  const parameters = statements.flatMap(({ values }) => values.map(textOf))
  const slots = parameters.map((_, index) => `$${index + 4}`).join(', ')
  return {
    name: `notify_at_once_${parameters.length}`,
    text: `CALL notify.run_at_once(NULL, $1, $2, $3, ARRAY[${slots}]::text[], NULL)`,
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
  const { texts, counts, parameters } = literalsOf(statements)
  const preconditions = statements.map(({ precondition = false }) => precondition)
  return {
    text: `CALL notify.run_at_once('${bucket}', ${texts}, ${counts}, ARRAY[${preconditions.join(',')}], ${parameters}, NULL)`,
  }
}

function literalsOf(statements: readonly Statement[]) {
  const texts = statements.map(({ text }) => literal(text))
  const parameters = statements.flatMap(({ values }) => values.map((value) => literal(textOf(value))))
  return {
    texts: `ARRAY[${texts.join(',')}]`,
    counts: `ARRAY[${statements.map(({ values }) => values.length).join(',')}]`,
    parameters: `ARRAY[${parameters.join(',')}]::text[]`,
  }
}

function textOf(value: Value | readonly Value[]): string | null {
  if (Array.isArray(value)) return columns(value as readonly Value[], (each) => each)[0] ?? null
  return value === null ? null : String(value)
}
