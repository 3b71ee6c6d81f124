import type { Database, Transaction } from '@gatehouse/kit'
import { NameConflict, type Subject, type Subjects } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

/** From one plan to the next in the index: there are few, of however many subjects. */
const plansSql = `WITH RECURSIVE known AS (
    (SELECT plan FROM identity.subject WHERE plan IS NOT NULL ORDER BY plan LIMIT 1)
    UNION ALL
    SELECT (SELECT plan FROM identity.subject WHERE plan > known.plan ORDER BY plan LIMIT 1)
      FROM known WHERE known.plan IS NOT NULL
  ) SELECT plan FROM known WHERE plan IS NOT NULL LIMIT 1000`

/** The common ids of users and clients in `identity.subject`. */
export class PostgresSubjects implements Subjects {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async findPlan(id: string): Promise<{ plan: string | undefined; kind: 'user' | 'client' } | undefined> {
    const text = 'SELECT plan, kind FROM identity.subject WHERE id = $1'
    const { rows } = await this.#database.query<{ plan: string | null; kind: 'user' | 'client' }>({
      name: 'identity plan',
      text,
      values: [id],
    })
    return rows[0] && { plan: orUndefined(rows[0].plan), kind: rows[0].kind }
  }

  async listPlans(): Promise<string[]> {
    return (await this.#database.query<{ plan: string }>(plansSql, [])).rows.map(({ plan }) => plan)
  }

  async listByPlan(plan: string | undefined, after: string, limit: number): Promise<Subject[]> {
    const [condition, values] = plan === undefined ? ['plan IS NULL', []] : ['plan = $3', [plan]]
    const text = `SELECT id, kind FROM identity.subject WHERE ${condition} AND id > $1 ORDER BY id LIMIT $2`
    return (await this.#database.query<Subject>(text, [after, limit, ...values])).rows
  }
}

/** Reserves the id for a user or a client, with its plan. @throws NameConflict when the other kind has it */
export async function reserveSubject(
  tx: Transaction,
  id: string,
  kind: 'user' | 'client',
  plan: string | undefined,
): Promise<void> {
  const { rowCount } = await tx.query(
    `INSERT INTO identity.subject (id, kind, plan) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET plan = excluded.plan WHERE identity.subject.kind = excluded.kind`,
    [id, kind, plan ?? null],
  )
  if (rowCount === 0) throw new NameConflict('id', `the id ${id} belongs to a ${kind === 'user' ? 'client' : 'user'}`)
}
