import type { Database } from '@gatehouse/kit'
import type { ApiKey, ApiKeyFilter, ApiKeyRotation, ApiKeys, NewApiKey } from '../../store/index.ts'
import { orUndefined, prefixPattern } from '../rows.ts'

interface KeyRow {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly scopes: string[]
  readonly plan: string | null
  readonly created_at: number
  readonly expires_at: number | null
  readonly hash: string
  readonly prefix: string
  readonly retiring_until: number
  readonly rotated_at: number | null
  readonly last_used_at: number | null
}

const select = `SELECT id, owner, name, scopes, plan, created_at, expires_at, hash, prefix, retiring_until, rotated_at,
  last_used_at FROM identity.api_key`

/* The locks wait for a transaction that ends the owner's keys, and make the next one wait, so that it finds this key. */
const userOwner = 'SELECT id FROM identity.account WHERE id = $4 AND credential_version = $10 FOR SHARE'
const clientOwner = "SELECT id FROM identity.subject WHERE id = $4 AND kind = 'client' FOR KEY SHARE"

const insertOf = (lockedOwner: string) => `WITH locked AS (${lockedOwner})
  INSERT INTO identity.api_key (id, hash, prefix, owner, name, scopes, plan, created_at, expires_at)
  SELECT $1, $2, $3, locked.id, $5, $6, $7, $8, $9 FROM locked`

/** API keys in `identity.api_key`. */
export class PostgresApiKeys implements ApiKeys {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async create(key: NewApiKey, credentialVersion: string | undefined): Promise<boolean> {
    const { id, hash, prefix, owner, name, scopes, plan, createdAt, expiresAt } = key
    const values = [id, hash, prefix, owner, name, scopes, plan ?? null, createdAt, expiresAt ?? null]
    const { rowCount } =
      credentialVersion === undefined
        ? await this.#database.query(insertOf(clientOwner), values)
        : await this.#database.query(insertOf(userOwner), [...values, credentialVersion])
    return rowCount === 1
  }

  async rotate({ id, expectedHash, hash, prefix, at, retiringUntil }: ApiKeyRotation): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `UPDATE identity.api_key SET retiring_hash = hash, retiring_until = $6, hash = $3, prefix = $4, rotated_at = $5
        WHERE id = $1 AND hash = $2`,
      [id, expectedHash, hash, prefix, at, retiringUntil],
    )
    return rowCount === 1
  }

  async findByHash(hash: string, now: number): Promise<ApiKey | undefined> {
    const text = `${select} WHERE (hash = $1 OR (retiring_hash = $1 AND retiring_until > $2))
      AND (expires_at IS NULL OR expires_at > $2)
      AND NOT EXISTS (SELECT FROM identity.account WHERE account.id = owner AND locked_at IS NOT NULL)`
    const { rows } = await this.#database.query<KeyRow>({ name: 'identity api key', text, values: [hash, now] })
    return rows[0] && keyOf(rows[0])
  }

  async find(id: string): Promise<ApiKey | undefined> {
    const { rows } = await this.#database.query<KeyRow>(`${select} WHERE id = $1`, [id])
    return rows[0] && keyOf(rows[0])
  }

  async identify(hash: string): Promise<ApiKey | undefined> {
    const text = `${select} WHERE hash = $1 OR retiring_hash = $1`
    return (await this.#database.query<KeyRow>(text, [hash])).rows.map(keyOf)[0]
  }

  async list(before: string | undefined, limit: number, { owner, q }: ApiKeyFilter = {}): Promise<ApiKey[]> {
    const text = `${select} WHERE ($1::uuid IS NULL OR id < $1) AND ($3::text IS NULL OR owner = $3)
        AND ($4::text IS NULL OR lower(name) LIKE lower($4) OR prefix LIKE $4)
      ORDER BY id DESC LIMIT $2`
    return (
      await this.#database.query<KeyRow>(text, [before ?? null, limit, owner ?? null, prefixPattern(q)])
    ).rows.map(keyOf)
  }

  async listByOwner(owner: string, now: number): Promise<ApiKey[]> {
    const text = `${select} WHERE owner = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY id DESC LIMIT 500`
    return (await this.#database.query<KeyRow>(text, [owner, now])).rows.map(keyOf)
  }

  async removeByOwner(owner: string, id: string): Promise<boolean> {
    const text = 'DELETE FROM identity.api_key WHERE owner = $1 AND id = $2'
    return (await this.#database.query(text, [owner, id])).rowCount === 1
  }

  async remove(id: string, expectedHash?: string): Promise<boolean> {
    const text = 'DELETE FROM identity.api_key WHERE id = $1 AND ($2::text IS NULL OR hash = $2)'
    return (await this.#database.query(text, [id, expectedHash ?? null])).rowCount === 1
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
    hash: row.hash,
    prefix: row.prefix,
    retiringUntil: row.retiring_until,
    rotatedAt: orUndefined(row.rotated_at),
    lastUsedAt: orUndefined(row.last_used_at),
  }
}
