import type { Client, ClientMetadata } from '../model/client.ts'
import type { User } from '../model/user.ts'

/** Converts SQL's null to undefined. */
export function orUndefined<Value>(value: Value | null): Value | undefined {
  return value ?? undefined
}

/** The pattern of LIKE for what begins with a text; null for no text. */
export function prefixPattern(text: string | undefined): string | null {
  return text === undefined ? null : `${text.replace(/[\\%_]/g, '\\$&')}%`
}

/** A client joined with its subject. */
export interface ClientRow {
  readonly id: string
  readonly plan: string | null
  readonly secret_hashes: string[]
  readonly retiring_secret_hashes: string[]
  readonly retiring_until: number
  readonly metadata: ClientMetadata
  readonly created_at: number
  readonly updated_at: number
  readonly last_used_at: number | null
}

/** Converts a row. */
export function clientOf(row: ClientRow): Client {
  return {
    ...row.metadata,
    id: row.id,
    plan: orUndefined(row.plan),
    secretHashes: row.secret_hashes,
    retiringSecrets: { hashes: row.retiring_secret_hashes, until: row.retiring_until },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastUsedAt: orUndefined(row.last_used_at),
  }
}

/** A user joined with its subject. */
export interface UserRow {
  readonly id: string
  readonly plan: string | null
  readonly username: string
  readonly email: string | null
  readonly email_verified: boolean
  readonly password_hash: string | null
  readonly password_changed_at: number
  readonly credential_version: string
  readonly roles: string[]
  readonly claims: Record<string, unknown>
  readonly locked_at: number | null
  readonly created_at: number
  readonly updated_at: number
}

/** The columns of a {@link UserRow}, of an account and its subject. */
export const userColumns = `account.id, plan, username, email, email_verified, password_hash, password_changed_at, credential_version,
  roles, claims, locked_at, created_at, updated_at`

/** Converts a row. */
export function userOf(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    plan: orUndefined(row.plan),
    email: orUndefined(row.email),
    emailVerified: row.email_verified,
    passwordHash: orUndefined(row.password_hash),
    passwordChangedAt: row.password_changed_at,
    credentialVersion: row.credential_version,
    roles: row.roles,
    claims: row.claims,
    lockedAt: orUndefined(row.locked_at),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
