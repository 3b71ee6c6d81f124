import type { Database, Transaction } from '@gatehouse/kit'
import type { SigningAlgorithm } from '../../model/client.ts'
import type { KeyEnd, RetiredKeys, SigningKeyStore, StoredKey } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'
import { appendRevocations } from './revocations.ts'

interface KeyRow {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly public_jwk: Record<string, unknown>
  readonly private_sealed: string
  readonly created_at: number
  readonly activates_at: number
  readonly expires_at: number | null
}

/** Signing keys in `identity.signing_key`. */
export class PostgresSigningKeys implements SigningKeyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(now: number): Promise<StoredKey[]> {
    const { rows } = await this.#database.query<KeyRow>(
      `SELECT kid, alg, public_jwk, private_sealed, created_at, activates_at, expires_at FROM identity.signing_key
       WHERE expires_at IS NULL OR expires_at > $1 ORDER BY created_at DESC, expires_at DESC NULLS FIRST, kid`,
      [now],
    )
    return rows.map((row) => ({
      kid: row.kid,
      alg: row.alg,
      publicJwk: row.public_jwk,
      privateSealed: row.private_sealed,
      createdAt: row.created_at,
      activatesAt: row.activates_at,
      expiresAt: orUndefined(row.expires_at),
    }))
  }

  add(key: StoredKey, { expiresAt, forgottenAt }: KeyEnd, unlessSince: number): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      await tx.query('LOCK TABLE identity.signing_key IN SHARE ROW EXCLUSIVE MODE')
      const { rowCount } = await tx.query(
        'SELECT 1 FROM identity.signing_key WHERE alg = $1 AND activates_at > $2 AND expires_at IS NULL LIMIT 1',
        [key.alg, unlessSince],
      )
      if (rowCount > 0) return false
      await tx.query(
        'UPDATE identity.signing_key SET expires_at = least(coalesce(expires_at, $2), $2) WHERE alg = $1',
        [key.alg, expiresAt],
      )
      await tx.query(
        `INSERT INTO identity.retired_key (kid, alg, public_jwk, expires_at)
         SELECT kid, alg, public_jwk, $2 FROM identity.signing_key WHERE alg = $1 ON CONFLICT DO NOTHING`,
        [key.alg, forgottenAt],
      )
      await insert(tx, key)
      return true
    })
  }

  replace(key: StoredKey, now: number): Promise<string[]> {
    return this.#database.transaction(async (tx) => {
      await tx.query('LOCK TABLE identity.signing_key IN SHARE ROW EXCLUSIVE MODE')
      const { rows } = await tx.query<{ kid: string }>(
        'DELETE FROM identity.signing_key WHERE alg = $1 RETURNING kid',
        [key.alg],
      )
      await tx.query('DELETE FROM identity.retired_key WHERE alg = $1', [key.alg])
      await insert(tx, key)
      const kids = rows.map(({ kid }) => kid)
      const revocations = kids.map((kid) => ({ key: kid }))
      await appendRevocations(tx, revocations, { now, expiresAt: Number.MAX_SAFE_INTEGER })
      return kids
    })
  }

  async purge(now: number): Promise<number> {
    return (await this.#database.query('DELETE FROM identity.signing_key WHERE expires_at <= $1', [now])).rowCount
  }
}

/** The public parts of keys that have a successor, in `identity.retired_key`. */
export class PostgresRetiredKeys implements RetiredKeys {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(kid: string, now: number): Promise<Pick<StoredKey, 'kid' | 'alg' | 'publicJwk'> | undefined> {
    const { rows } = await this.#database.query<Pick<KeyRow, 'alg' | 'public_jwk'>>(
      'SELECT alg, public_jwk FROM identity.retired_key WHERE kid = $1 AND expires_at > $2',
      [kid, now],
    )
    return rows[0] && { kid, alg: rows[0].alg, publicJwk: rows[0].public_jwk }
  }
}

async function insert(tx: Transaction, key: StoredKey): Promise<void> {
  await tx.query(
    `INSERT INTO identity.signing_key (kid, alg, public_jwk, private_sealed, created_at, activates_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [key.kid, key.alg, JSON.stringify(key.publicJwk), key.privateSealed, key.createdAt, key.activatesAt],
  )
}
