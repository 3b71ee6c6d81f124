import type { Database } from '@gatehouse/kit'
import { type LimitOverride, maxLimitOverrides } from '../../model/limit-settings.ts'
import type { LimitOverrides } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface OverrideRow {
  readonly kind: string
  readonly id: string
  readonly policy: string | null
  readonly factor: number | null
  readonly reason: string
  readonly author: string | null
  readonly created_at: number
  readonly expires_at: number
}

const select = `SELECT kind, id, policy, factor, reason, author, created_at, expires_at
  FROM identity.limit_override WHERE expires_at > $1`

/** Overrides in `identity.limit_override`. One that has ended is no longer found; the purge deletes it later. */
export class PostgresLimitOverrides implements LimitOverrides {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async put(override: LimitOverride, now: number): Promise<boolean> {
    const { kind, id, policy, factor, reason, author, createdAt, until } = override
    const { rowCount } = await this.#database.query(
      `INSERT INTO identity.limit_override (kind, id, policy, factor, reason, author, created_at, expires_at)
       SELECT $2, $3, $4, $5, $6, $7, $8, $9
        WHERE (SELECT count(*) FROM identity.limit_override
                WHERE expires_at > $1 AND (kind, id) IS DISTINCT FROM ($2, $3)) < $10
       ON CONFLICT (kind, id) DO UPDATE SET policy = excluded.policy, factor = excluded.factor,
         reason = excluded.reason, author = excluded.author, created_at = excluded.created_at,
         expires_at = excluded.expires_at`,
      [now, kind, id, policy ?? null, factor ?? null, reason, author ?? null, createdAt, until, maxLimitOverrides],
    )
    return rowCount > 0
  }

  async find(kind: string, id: string, now: number): Promise<LimitOverride | undefined> {
    const { rows } = await this.#database.query<OverrideRow>(`${select} AND kind = $2 AND id = $3`, [now, kind, id])
    return rows[0] && parseOverride(rows[0])
  }

  async remove(kind: string, id: string, now: number): Promise<boolean> {
    const text = 'DELETE FROM identity.limit_override WHERE kind = $1 AND id = $2 RETURNING expires_at'
    const { rows } = await this.#database.query<{ expires_at: number }>(text, [kind, id])
    return rows.some(({ expires_at: end }) => end > now)
  }

  async list(now: number): Promise<LimitOverride[]> {
    const text = `${select} ORDER BY kind, id LIMIT $2`
    return (await this.#database.query<OverrideRow>(text, [now, maxLimitOverrides])).rows.map(parseOverride)
  }
}

function parseOverride(row: OverrideRow): LimitOverride {
  const { kind, id, policy, factor, reason, author, created_at: createdAt, expires_at: until } = row
  const named = { policy: orUndefined(policy), factor: orUndefined(factor), author: orUndefined(author) }
  return { kind, id, ...named, reason, createdAt, until }
}
