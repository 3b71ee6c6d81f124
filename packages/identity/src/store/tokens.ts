import type { SigningAlgorithm } from '../model/client.ts'
import type { RevocationTimes } from '../model/revocation-times.ts'

export interface OpaqueToken {
  readonly hash: string
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  readonly roles: readonly string[]
  readonly issuedAt: number
  readonly expiresAt: number
}

export interface AccessTokens {
  put(token: OpaqueToken): Promise<void>
  find(hash: string, now: number): Promise<OpaqueToken | undefined>
}

/**
 * One thing that the revocation feed tells. `before` is in Unix seconds: tokens issued earlier are refused. `key` is the
 * `kid` of a signing key: whatever it signed is refused.
 */
export type Revocation =
  | { readonly grant: string }
  | { readonly subject: string; readonly before: number }
  | { readonly client: string; readonly before: number }
  | { readonly key: string }

export interface Revocations {
  listAfter(position: number, limit: number, now: number): Promise<{ revocations: Revocation[]; next: number }>
  add(revocation: Revocation, end: RevocationTimes): Promise<void>
  /** Whether a token of this grant, subject and client, issued then (Unix seconds), is revoked. */
  isRevoked(token: { grantId: string; subject: string; clientId: string; issuedAt: number }): Promise<boolean>
}

export interface StoredKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly publicJwk: Readonly<Record<string, unknown>>
  readonly privateSealed: string
  readonly createdAt: number
  /** From here on it signs, unless one made later does. */
  readonly activatesAt: number
  /** From here on nothing it signed is valid; undefined while it is the one that signs. */
  readonly expiresAt: number | undefined
}

export interface SigningKeyStore {
  /** Those that are not expired, the one made last first. */
  list(now: number): Promise<StoredKey[]>
  /**
   * Adds a key and ends the others of its algorithm at `othersExpireAt`, unless one was added after `unlessSince`.
   * True for the one process that added.
   */
  add(key: StoredKey, othersExpireAt: number, unlessSince: number): Promise<boolean>
  /**
   * Adds a key and removes the others of its algorithm, which are compromised: the revocation feed names them, for ever,
   * for who holds a private key can sign tokens of any age. Answers their kids.
   */
  replace(key: StoredKey, now: number): Promise<string[]>
  /** Removes what is expired. */
  purge(now: number): Promise<number>
}

export interface ApiKey {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly plan: string | undefined
  readonly createdAt: number
  readonly expiresAt: number | undefined
}

export interface ApiKeys {
  create(key: ApiKey, hash: string): Promise<void>
  /** The key while it lives and its owner is not locked. */
  findByHash(hash: string, now: number): Promise<ApiKey | undefined>
  find(id: string): Promise<ApiKey | undefined>
  list(listAfter: string, limit: number): Promise<ApiKey[]>
  remove(id: string): Promise<boolean>
  /** The keys of an owner that live, the newest first. */
  listByOwner(owner: string, now: number): Promise<ApiKey[]>
  /** Ends a key of this owner. False when there is none. */
  removeByOwner(owner: string, id: string): Promise<boolean>
}
