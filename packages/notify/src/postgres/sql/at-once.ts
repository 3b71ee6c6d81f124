import type { Database } from '@gatehouse/kit'
import { columns } from './columns.ts'

type Value = string | number | boolean | null

/** A statement of {@link runAtOnce}. Each `$n` has a cast to its type, for the values travel as text. */
export interface Statement {
  readonly text: string
  readonly values: ReadonlyArray<Value | readonly Value[]>
  /** It answers one boolean; unless that is true, nothing of the whole is written. */
  readonly precondition?: true
}

/**
 * Runs statements in one transaction, in order, each on a snapshot of its own, on one message to the server, which
 * commits before it reads on: a client that stops at any point, or a network that does, leaves no lock behind. Always
 * planned for the tables as they are now. A database's own method, not a transaction's.
 *
 * @returns the guard that did not hold, where there is one; nothing was written then
 */
export async function runAtOnce(database: Database, statements: readonly Statement[]): Promise<Statement | undefined> {
  const parameters = statements.flatMap(({ values }) => values.map(textOf))
  const slots = parameters.map((_, index) => `$${index + 4}`).join(', ')
  const { rows } = await database.query<{ failed: number }>({
    name: `notify_at_once_${parameters.length}`,
    text: `CALL notify.run_at_once($1, $2, $3, ARRAY[${slots}]::text[], NULL)`,
    values: [
      statements.map(({ text }) => fromOneArray(text)),
      statements.map(({ values }) => values.length),
      statements.map(({ precondition = false }) => precondition),
      ...parameters,
    ],
  })
  const [{ failed } = { failed: 0 }] = rows
  return statements[failed - 1]
}

const rewritten = new Map<string, string>()

/** The texts are few and fixed, and are rewritten once. */
function fromOneArray(text: string): string {
  const known = rewritten.get(text)
  if (known !== undefined) return known
  const fresh = text.replace(/\$(\d+)/g, '($$1::text[])[$1]')
  rewritten.set(text, fresh)
  return fresh
}

function textOf(value: Value | readonly Value[]): string | null {
  if (Array.isArray(value)) return columns(value as readonly Value[], (each) => each)[0] ?? null
  return value === null ? null : String(value)
}
