import type { Database, Transaction } from '@gatehouse/kit'
import { NameConflict, type Subjects } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

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
