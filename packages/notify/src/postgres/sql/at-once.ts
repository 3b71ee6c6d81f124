import { hash } from 'node:crypto'
import { type Database, type Query, type Rows, sqlState } from '@gatehouse/kit'
import { at } from '../nodes/spread-database.ts'
import type { BucketScope } from './buckets.ts'
import { columns, literal } from './columns.ts'

type Value = string | number | boolean | null

/** A statement that reads. Each `$n` has a cast to its type, for the values travel as text. */
export interface ReadStatement {
  readonly text: string
  readonly values: ReadonlyArray<Value | readonly Value[]>
}

/** A statement that runs within the server, as {@link ReadStatement} does. */
export interface Statement extends ReadStatement {
  /** It answers one boolean; unless that is true, nothing of the whole is written. */
  readonly precondition?: true
}

/**
 * Says at the head of a text that it has one plan, whatever its tables hold: for each row of its parameters it looks for
 * others (a subquery, or LATERAL with LIMIT), by the only index that fits. Others are planned for each call while one of
 * their tables is small, for then an index seems as good as another, and the whole of it as a look for each row.
 */
export const onePlan = '/* one plan */ '

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
  const preconditions = statements.map(({ precondition = false }) => precondition)
  const query = callOf('run_at_once', bucket, statements, [preconditions])
  const { rows } = await at(database, bucket).query<{ failed: number }>(query)
  const [{ failed } = { failed: 0 }] = rows
  return statements[failed - 1]
}

/**
 * Runs statements that read, as {@link runAtOnce} does. Their rows travel as JSON: they hold no points in time.
 */
export async function readAtOnce(
  database: Database,
  { bucket }: Pick<BucketScope, 'bucket'>,
  statements: readonly ReadStatement[],
): Promise<ReadonlyArray<Pick<Rows<object>, 'rows'>>> {
  const reading = statements.map(({ text, values }) => ({ text: documentOf(text), values }))
  const { rows } = await at(database, bucket).query<{ answers: string }>(callOf('read_at_once', bucket, reading, []))
  const answers: object[][] = JSON.parse(`[${rows[0]?.answers ?? ''}]`)
  return answers.map((answer) => ({ rows: answer }))
}

function documentOf(text: string): string {
  return `SELECT coalesce(json_agg(r), '[]') FROM (${text}) AS r`
}

/** SQLSTATEs of a serialization failure and of a deadlock. */
const conflicts: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Whether {@link runAtOnce} failed since others were at the same rows: nothing was written. */
export function isConflict(error: unknown): boolean {
  return conflicts.has(sqlState(error) ?? '')
}

/**
 * A call of a procedure with the names of statements, `more` about each, their texts and their arguments. A distributed
 * engine hands it over to the node of its bucket only where all that it is given is written out.
 */
function callOf(
  procedure: 'run_at_once' | 'read_at_once',
  bucket: number | undefined,
  statements: readonly ReadStatement[],
  more: ReadonlyArray<readonly boolean[]>,
): Query {
  const names = statements.map(({ text }) => nameOf(text))
  const lists = [names, ...more].map((list) => columns<string | boolean>(list, (each) => each)[0] ?? '{}')
  const texts = statements.map(({ text }) => text)
  const written = statements.map(argumentsOf)
  if (bucket !== undefined) {
    const arrays = [texts, written].map((list) => `ARRAY[${list.map(literal).join(',')}]`)
    return { text: `CALL notify.${procedure}('${bucket}', ${[...lists.map(literal), ...arrays].join(', ')}, NULL)` }
  }
  const values = [...lists, ...texts, ...written]
  const slots = values.map((_, index) => `$${index + 1}`)
  const arrayFrom = (first: number) => `ARRAY[${slots.slice(first, first + texts.length).join(', ')}]`
  const all = [...slots.slice(0, lists.length), arrayFrom(lists.length), arrayFrom(lists.length + texts.length)]
  return {
    name: `notify_${procedure}_${statements.length}`,
    text: `CALL notify.${procedure}(NULL, ${all.join(', ')}, NULL)`,
    values,
  }
}

/** The values of a statement as they are written behind its name: `('{1,2}','it''s')`. */
function argumentsOf({ values }: ReadStatement): string {
  return values.length === 0 ? '' : `(${values.map((value) => literal(textOf(value))).join(',')})`
}

function textOf(value: Value | readonly Value[]): string | null {
  if (Array.isArray(value)) return columns(value as readonly Value[], (each) => each)[0] ?? null
  return value === null ? null : String(value)
}

/** Of the texts, which are few and fixed. */
const knownNames = new Map<string, string>()

/** The name under which connections keep a statement. */
function nameOf(text: string): string {
  const known = knownNames.get(text)
  if (known !== undefined) return known
  const name = `notify_${hash('sha256', text).slice(0, 32)}`
  knownNames.set(text, name)
  return name
}
