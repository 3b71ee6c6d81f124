import type { Database } from '@gatehouse/kit'
import type { ApiKey, ApiKeys } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface KeyRow {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly scopes: string[]
  readonly plan: string | null
  readonly created_at: number
  readonly expires_at: number | null
}

const select = 'SELECT id, owner, name, scopes, plan, created_at, expires_at FROM identity.api_key'

/** API keys in `identity.api_key`. */
export class PostgresApiKeys implements ApiKeys {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async create(key: ApiKey, hash: string): Promise<void> {
    await this.#database.query(
      `INSERT INTO identity.api_key (id, hash, owner, name, scopes, plan, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [key.id, hash, key.owner, key.name, key.scopes, key.plan ?? null, key.createdAt, key.expiresAt ?? null],
    )
  }

  async findByHash(hash: string, now: number): Promise<ApiKey | undefined> {
    const text = `${select} WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2)
      AND NOT EXISTS (SELECT FROM identity.account WHERE account.id = owner AND locked_at IS NOT NULL)`
    const { rows } = await this.#database.query<KeyRow>({ name: 'identity api key', text, values: [hash, now] })
    return rows[0] && keyOf(rows[0])
  }

  async find(id: string): Promise<ApiKey | undefined> {
    const { rows } = await this.#database.query<KeyRow>(`${select} WHERE id = $1`, [id])
    return rows[0] && keyOf(rows[0])
  }

  async list(before: string | undefined, limit: number): Promise<ApiKey[]> {
    const text = `${select} WHERE $1::uuid IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`
    return (await this.#database.query<KeyRow>(text, [before ?? null, limit])).rows.map(keyOf)
  }

  async listByOwner(owner: string, now: number): Promise<ApiKey[]> {
    const text = `${select} WHERE owner = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY id DESC LIMIT 500`
    return (await this.#database.query<KeyRow>(text, [owner, now])).rows.map(keyOf)
  }

  async removeByOwner(owner: string, id: string): Promise<boolean> {
    const text = 'DELETE FROM identity.api_key WHERE owner = $1 AND id = $2'
    return (await this.#database.query(text, [owner, id])).rowCount === 1
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#database.query('DELETE FROM identity.api_key WHERE id = $1', [id])).rowCount === 1
  }
}

function keyOf(row: KeyRow): ApiKey {
  return {
    id: row.id,
    owner: row.owner,
    name: row.name,
    scopes: row.scopes,
    plan: orUndefined(row.plan),
    createdAt: row.created_at,
    expiresAt: orUndefined(row.expires_at),
  }
}
