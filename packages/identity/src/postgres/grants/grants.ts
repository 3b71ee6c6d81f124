import type { Database, Queryable, Transaction } from '@gatehouse/kit'
import { type Access, covers } from '../../model/grants/consent.ts'
import type { AuthorizationCode, ClaimsRequest, GrantRecord } from '../../model/grants/grant.ts'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import type { GrantBasis, Grants, UsedGrant, UserGrant } from '../../store/index.ts'
import { orUndefined, type UserRow, userOf } from '../rows.ts'
import { lockSession } from '../sessions.ts'
import { findConsents } from './consents.ts'
import { deleteRefreshFamilies } from './ended-grants.ts'
import { usePushedRequest } from './pushed-requests.ts'

/** A grant joined with its user. */
export interface GrantRow extends UserRow {
  readonly grant_id: string
  readonly user_id: string
  readonly client_id: string
  readonly session_id: string | null
  readonly organization_id: string | null
  readonly scopes: string[]
  readonly resources: string[]
  readonly requested_claims: ClaimsRequest
  readonly auth_time: number
  readonly amr: string[]
  readonly remembered: boolean
  readonly user_agent: string
  readonly granted_at: number
  readonly grant_expires_at: number
  readonly revoked_at: number | null
}

/** The columns of a {@link GrantRow}, of a grant `g`, its account `a` and its subject `s`. */
export const userGrantColumns = `g.id AS grant_id, g.user_id, g.client_id, g.session_id, g.organization_id, g.scopes, g.resources, g.claims AS requested_claims,
  g.auth_time, g.amr, g.remembered, g.user_agent, g.created_at AS granted_at, g.expires_at AS grant_expires_at, g.revoked_at,
  a.id, s.plan, a.username, a.email, a.email_verified, a.password_hash, a.password_changed_at, a.credential_version, a.roles, a.claims, a.locked_at,
  a.created_at, a.updated_at`

/** The tables of a {@link GrantRow}. */
export const userGrantTables = `identity.grant_record g JOIN identity.account a ON a.id = g.user_id JOIN identity.subject s ON s.id = a.id`

/** Converts a row. */
export function userGrantOf(row: GrantRow): UserGrant {
  return { grant: grantOf(row), user: userOf(row) }
}

function grantOf(row: Omit<GrantRow, keyof UserRow>): GrantRecord {
  return {
    id: row.grant_id,
    userId: row.user_id,
    clientId: row.client_id,
    sessionId: orUndefined(row.session_id),
    organizationId: orUndefined(row.organization_id),
    scopes: row.scopes,
    resources: row.resources,
    claims: row.requested_claims,
    authTime: row.auth_time,
    amr: row.amr,
    remembered: row.remembered,
    userAgent: row.user_agent,
    createdAt: row.granted_at,
    expiresAt: row.grant_expires_at,
    revokedAt: orUndefined(row.revoked_at),
  }
}

/** Grants in `identity.grant_record`. */
export class PostgresGrants implements Grants {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  open(grant: GrantRecord, code: AuthorizationCode, { pushed, consented }: GrantBasis = {}): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      if (grant.sessionId !== undefined && !(await lockSession(tx, grant.sessionId))) return false
      if (!(await lockMembership(tx, grant))) return false
      if (consented !== undefined && !(await isConsented(tx, grant, consented))) return false
      if (pushed !== undefined && !(await usePushedRequest(tx, pushed, grant))) return false
      await insertGrant(tx, grant)
      await tx.query(
        `INSERT INTO identity.session_client (session_id, client_id) SELECT $1::uuid, $2 WHERE $1::uuid IS NOT NULL
         ON CONFLICT DO NOTHING`,
        [grant.sessionId ?? null, grant.clientId],
      )
      await tx.query(
        `INSERT INTO identity.authorization_code (hash, grant_id, client_id, redirect_uri, code_challenge, nonce, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          code.hash,
          grant.id,
          code.clientId,
          code.redirectUri,
          code.codeChallenge ?? null,
          code.nonce ?? null,
          code.createdAt,
          code.expiresAt,
        ],
      )
      return true
    })
  }

  async find(id: string): Promise<UserGrant | undefined> {
    const text = `SELECT ${userGrantColumns} FROM ${userGrantTables} WHERE g.id = $1`
    const { rows } = await this.#database.query<GrantRow>(text, [id])
    return rows[0] && userGrantOf(rows[0])
  }

  async listByUser(userId: string, now: number): Promise<UsedGrant[]> {
    const { rows } = await this.#database.query<GrantRow & { readonly used_at: number }>(
      `SELECT ${userGrantColumns}, greatest(g.created_at, f.rotated_at) AS used_at FROM ${userGrantTables} LEFT JOIN identity.refresh_family f ON f.grant_id = g.id
       WHERE g.user_id = $1 AND g.revoked_at IS NULL AND greatest(g.expires_at, f.expires_at) > $2 ORDER BY g.created_at DESC LIMIT 500`,
      [userId, now],
    )
    return rows.map((row) => ({ ...grantOf(row), usedAt: row.used_at }))
  }

  async listByClient(
    clientId: string,
    { before, limit }: { readonly before: string | undefined; readonly limit: number },
    now: number,
  ): Promise<GrantRecord[]> {
    const { rows } = await this.#database.query<Omit<GrantRow, keyof UserRow>>(
      `SELECT g.id AS grant_id, g.user_id, g.client_id, g.session_id, g.organization_id, g.scopes, g.resources,
              g.claims AS requested_claims, g.auth_time, g.amr, g.remembered, g.user_agent, g.created_at AS granted_at, g.revoked_at,
              greatest(g.expires_at, f.expires_at) AS grant_expires_at
         FROM identity.grant_record g LEFT JOIN identity.refresh_family f ON f.grant_id = g.id
        WHERE g.client_id = $1 AND ($2::uuid IS NULL OR g.id < $2) AND g.revoked_at IS NULL
          AND greatest(g.expires_at, f.expires_at) > $4
        ORDER BY g.id DESC LIMIT $3`,
      [clientId, before ?? null, limit, now],
    )
    return rows.map(grantOf)
  }

  revoke(id: string, end: RevocationTimes): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rows } = await tx.query<{ id: string }>(
        'UPDATE identity.grant_record SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING id',
        [id, end.now],
      )
      await deleteRefreshFamilies(tx, rows, end)
      return rows.length > 0
    })
  }

  withdraw(userId: string, clientId: string, end: RevocationTimes): Promise<string[]> {
    return this.#database.transaction(async (tx) => {
      // A grant that depends on the consent is stored before, and revoked here, or waits and is then not stored.
      await tx.query('SELECT 1 FROM identity.account WHERE id = $1 FOR NO KEY UPDATE', [userId])
      await tx.query('DELETE FROM identity.consent WHERE user_id = $1 AND client_id = $2', [userId, clientId])
      const { rows } = await tx.query<{ id: string }>(
        'UPDATE identity.grant_record SET revoked_at = $3 WHERE user_id = $1 AND client_id = $2 AND revoked_at IS NULL RETURNING id',
        [userId, clientId, end.now],
      )
      await deleteRefreshFamilies(tx, rows, end)
      return rows.map((row) => row.id)
    })
  }
}

/** Whether one page that the user allowed covers the access, while the account is locked by {@link lockSession}. */
async function isConsented(tx: Transaction, { userId, clientId }: GrantRecord, access: Access): Promise<boolean> {
  return (await findConsents(tx, userId, clientId)).some((page) => covers(page, access))
}

/** Revokes every grant of a user; `ended` were revoked before in the transaction. */
export async function revokeGrantsOfUser(
  tx: Transaction,
  userId: string,
  end: RevocationTimes,
  ended: readonly { readonly id: string }[] = [],
): Promise<void> {
  const { rows } = await tx.query<{ id: string }>(
    'UPDATE identity.grant_record SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING id',
    [userId, end.now],
  )
  await deleteRefreshFamilies(tx, [...ended, ...rows], end)
}

/**
 * Revokes the grants in an organization, of one member or, where that is undefined, of all. They are to be passed to
 * {@link deleteRefreshFamilies} as the last step of the transaction.
 */
export async function revokeGrantsInOrganization(
  tx: Transaction,
  organizationId: string,
  userId: string | undefined,
  end: RevocationTimes,
): Promise<readonly { readonly id: string }[]> {
  const { rows } = await tx.query<{ id: string }>(
    `UPDATE identity.grant_record SET revoked_at = $3
     WHERE organization_id = $1 AND ($2::text IS NULL OR user_id = $2) AND revoked_at IS NULL RETURNING id`,
    [organizationId, userId ?? null, end.now],
  )
  return rows
}

/**
 * Locks the membership that a grant is for until the end of the transaction; false when it has ended or the organization
 * is suspended. Whoever ends it waits, and then ends the grant too.
 */
export async function lockMembership(tx: Transaction, { organizationId, userId }: GrantRecord): Promise<boolean> {
  if (organizationId === undefined) return true
  const { rowCount } = await tx.query(
    `SELECT 1 FROM identity.organization o JOIN identity.membership m ON m.organization_id = o.id
     WHERE o.id = $1 AND m.user_id = $2 AND o.status = 'active' FOR SHARE OF o FOR KEY SHARE OF m`,
    [organizationId, userId],
  )
  return rowCount === 1
}

/** Inserts a grant. */
export async function insertGrant(on: Queryable, grant: GrantRecord): Promise<void> {
  await on.query(
    `INSERT INTO identity.grant_record (id, user_id, client_id, session_id, scopes, resources, claims, auth_time, amr, user_agent, created_at, expires_at, organization_id, remembered)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      grant.id,
      grant.userId,
      grant.clientId,
      grant.sessionId ?? null,
      grant.scopes,
      grant.resources,
      JSON.stringify(grant.claims),
      grant.authTime,
      grant.amr,
      grant.userAgent,
      grant.createdAt,
      grant.expiresAt,
      grant.organizationId ?? null,
      grant.remembered,
    ],
  )
}
