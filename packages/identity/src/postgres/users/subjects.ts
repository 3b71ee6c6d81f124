import type { Database, Transaction } from '@gatehouse/kit'
import { NameConflict, type PlanMember, type PlanSearch, type Subjects } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

/** From one plan to the next in the index of a table: there are few, of however many rows. */
const plansOf = (table: string) => `
  WITH RECURSIVE known AS (
    (SELECT plan FROM ${table} WHERE plan IS NOT NULL ORDER BY plan LIMIT 1)
    UNION ALL
    SELECT (SELECT plan FROM ${table} WHERE plan > known.plan ORDER BY plan LIMIT 1)
      FROM known WHERE known.plan IS NOT NULL
  ) SELECT plan FROM known WHERE plan IS NOT NULL LIMIT 1000`

const plansSql = `(${plansOf('identity.subject')}) UNION (${plansOf('identity.api_key')})`

/** Users, clients and keys of one plan, each from its index. */
const membersSql = `
  (SELECT id, kind, NULL AS key_id, NULL AS name, NULL AS owner
     FROM identity.subject WHERE plan = $3 AND id > $1 ORDER BY id LIMIT $2)
  UNION ALL
  (SELECT hash, 'key', id, name, owner
     FROM identity.api_key
    WHERE plan = $3 AND hash > $1 AND (expires_at IS NULL OR expires_at > $4) ORDER BY hash LIMIT $2)
  ORDER BY id LIMIT $2`

const withoutPlanSql = `
  SELECT id, kind, NULL AS key_id, NULL AS name, NULL AS owner
    FROM identity.subject WHERE plan IS NULL AND id > $1 ORDER BY id LIMIT $2`

interface MemberRow {
  readonly id: string
  readonly kind: PlanMember['kind']
  readonly key_id: string | null
  readonly name: string | null
  readonly owner: string | null
}

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

  async listByPlan({ plan, after, limit, now }: PlanSearch): Promise<PlanMember[]> {
    const { rows } =
      plan === undefined
        ? await this.#database.query<MemberRow>(withoutPlanSql, [after, limit])
        : await this.#database.query<MemberRow>(membersSql, [after, limit, plan, now])
    return rows.map(({ id, kind, key_id: keyId, name, owner }) => ({
      id,
      kind,
      ...(keyId === null || name === null || owner === null ? {} : { key: { id: keyId, name, owner } }),
    }))
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
