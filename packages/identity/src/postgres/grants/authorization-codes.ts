import type { Database, Queryable } from '@gatehouse/kit'
import type { RefreshFamily } from '../../model/grants/grant.ts'
import type { AuthorizationCodes, CodeWithGrant } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'
import { type GrantRow, userGrantColumns, userGrantOf, userGrantTables } from './grants.ts'

interface CodeRow extends GrantRow {
  readonly code_client: string
  readonly redirect_uri: string
  readonly code_challenge: string | null
  readonly nonce: string | null
  readonly issued_at: number
  readonly code_expires_at: number
  readonly consumed_at: number | null
}

/** Authorization codes in `identity.authorization_code`. */
export class PostgresAuthorizationCodes implements AuthorizationCodes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(hash: string): Promise<CodeWithGrant | undefined> {
    const text = `SELECT c.client_id AS code_client, c.redirect_uri, c.code_challenge, c.nonce, c.created_at AS issued_at,
        c.expires_at AS code_expires_at, c.consumed_at, ${userGrantColumns}
      FROM ${userGrantTables} JOIN identity.authorization_code c ON c.grant_id = g.id WHERE c.hash = $1`
    const { rows } = await this.#database.query<CodeRow>({ name: 'identity code', text, values: [hash] })
    const row = rows[0]
    return (
      row && {
        ...userGrantOf(row),
        consumedAt: orUndefined(row.consumed_at),
        code: {
          hash,
          clientId: row.code_client,
          redirectUri: row.redirect_uri,
          codeChallenge: orUndefined(row.code_challenge),
          nonce: orUndefined(row.nonce),
          createdAt: row.issued_at,
          expiresAt: row.code_expires_at,
        },
      }
    )
  }

  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `UPDATE identity.authorization_code c SET consumed_at = $2 FROM identity.grant_record g
         WHERE c.hash = $1 AND c.consumed_at IS NULL AND c.expires_at > $2 AND g.id = c.grant_id AND g.revoked_at IS NULL
           AND (g.session_id IS NULL OR EXISTS (SELECT FROM identity.session n WHERE n.id = g.session_id))`,
        [hash, now],
      )
      if (rowCount === 1 && family !== undefined) await insertRefreshFamily(tx, family)
      return rowCount === 1
    })
  }
}

/** Inserts the first refresh token of a grant. */
export async function insertRefreshFamily(on: Queryable, family: RefreshFamily): Promise<void> {
  await on.query(
    `INSERT INTO identity.refresh_family (grant_id, generation, current_hash, rotated_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
    [family.grantId, family.generation, family.currentHash, family.rotatedAt, family.expiresAt],
  )
}
