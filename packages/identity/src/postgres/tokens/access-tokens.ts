import type { Database } from '@gatehouse/kit'
import type { AccessTokens, OpaqueToken } from '../../store/index.ts'

interface TokenRow {
  readonly grant_id: string
  readonly client_id: string
  readonly subject: string
  readonly scopes: string[]
  readonly audience: string[]
  readonly roles: string[]
  readonly auth_time: number | null
  readonly acr: string | null
  readonly organization_id: string | null
  readonly organization_roles: string[] | null
  readonly issued_at: number
  readonly expires_at: number
}

/** Opaque access tokens in `identity.access_token`. */
export class PostgresAccessTokens implements AccessTokens {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async put(token: OpaqueToken): Promise<void> {
    await this.#database.query({
      name: 'identity opaque token',
      text: `INSERT INTO identity.access_token (hash, grant_id, client_id, subject, scopes, audience, roles, issued_at, expires_at, auth_time, acr, organization_id, organization_roles)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      values: [
        token.hash,
        token.grantId,
        token.clientId,
        token.subject,
        token.scopes,
        token.audience,
        token.roles,
        token.issuedAt,
        token.expiresAt,
        token.authTime ?? null,
        token.acr ?? null,
        token.organization?.id ?? null,
        token.organization?.roles ?? null,
      ],
    })
  }

  async find(hash: string, now: number): Promise<OpaqueToken | undefined> {
    const { rows } = await this.#database.query<TokenRow>(
      `SELECT grant_id, client_id, subject, scopes, audience, roles, auth_time, acr, organization_id, organization_roles, issued_at, expires_at
       FROM identity.access_token
       WHERE hash = $1 AND expires_at > $2`,
      [hash, now],
    )
    const row = rows[0]
    return (
      row && {
        hash,
        grantId: row.grant_id,
        clientId: row.client_id,
        subject: row.subject,
        scopes: row.scopes,
        audience: row.audience,
        roles: row.roles,
        ...(row.auth_time === null ? {} : { authTime: row.auth_time }),
        ...(row.acr === null ? {} : { acr: row.acr }),
        ...(row.organization_id === null
          ? {}
          : { organization: { id: row.organization_id, roles: row.organization_roles ?? [] } }),
        issuedAt: row.issued_at,
        expiresAt: row.expires_at,
      }
    )
  }
}
