import type { SigningAlgorithm } from '../model/client.ts'
import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { TokenOrganization } from '../model/organization.ts'

/** An opaque access token. Times are Unix milliseconds. */
export interface OpaqueToken {
  readonly hash: string
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  readonly roles: readonly string[]
  /** When and how its user signed in; a client that acts for itself has neither. */
  readonly authTime?: number
  readonly acr?: string
  readonly organization?: TokenOrganization
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Opaque access tokens. */
export interface AccessTokens {
  put(token: OpaqueToken): Promise<void>
  find(hash: string, now: number): Promise<OpaqueToken | undefined>
}

/**
 * An entry of the revocation feed. `before` is in Unix seconds: tokens issued earlier are revoked. `key` is the `kid`
 * of a signing key: everything that it signed is revoked.
 */
export type Revocation =
  | { readonly grant: string }
  | { readonly subject: string; readonly before: number }
  | { readonly client: string; readonly before: number }
  | { readonly key: string }

/** A part of the revocation feed. */
export interface ListedRevocations {
  readonly revocations: Revocation[]
  /** The position behind which the next part begins. */
  readonly next: number
  /** The newest position that was ever given, that of a removed entry too: the next entry comes behind it. */
  readonly last: number
}

/** The revocation feed. */
export interface Revocations {
  /** The entries behind a position that have not expired. */
  listAfter(position: number, limit: number, now: number): Promise<ListedRevocations>
  add(revocation: Revocation, end: RevocationTimes): Promise<void>
  /** Whether a token of this grant, subject and client, issued then (Unix seconds), is revoked. */
  isRevoked(token: { grantId: string; subject: string; clientId: string; issuedAt: number }): Promise<boolean>
}

/** A signing key as it is stored. Times are Unix milliseconds. */
export interface StoredKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly publicJwk: Readonly<Record<string, unknown>>
  readonly privateSealed: string
  readonly createdAt: number
  /** When it starts signing, unless a newer key does. */
  readonly activatesAt: number
  /** When everything that it signed has expired; undefined while it is the newest. */
  readonly expiresAt: number | undefined
}

/** When a key ends that has a successor, in Unix milliseconds. */
export interface KeyEnd {
  /** When everything that it signed has expired. */
  readonly expiresAt: number
  /** When every session has ended that an ID token signed by it may name. */
  readonly forgottenAt: number
}

/** Signing keys. */
export interface SigningKeyStore {
  /** The keys that have not expired, the newest first. */
  list(now: number): Promise<StoredKey[]>
  /**
   * Adds a key and ends the others of its algorithm, unless one was added after `unlessSince`. True for the one process
   * that added it.
   */
  add(key: StoredKey, othersEnd: KeyEnd, unlessSince: number): Promise<boolean>
  /**
   * Adds a key and deletes the others of its algorithm, which are compromised, with the retired ones. The revocation
   * feed names them forever, because the holder of a private key can sign tokens of any age. Returns their kids.
   */
  replace(key: StoredKey, now: number): Promise<string[]>
  /** Deletes expired keys. */
  purge(now: number): Promise<number>
}

/** The public parts of keys that have a successor: they verify hints, and nothing that lets somebody in. */
export interface RetiredKeys {
  /** The key, until it is forgotten. */
  find(kid: string, now: number): Promise<Pick<StoredKey, 'kid' | 'alg' | 'publicJwk'> | undefined>
}

/** An API key, without the key itself. Times are Unix milliseconds. */
export interface ApiKey {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly plan: string | undefined
  readonly createdAt: number
  readonly expiresAt: number | undefined
  /** The hash of the key, by which gateways count its requests. */
  readonly hash: string
  /** The beginning of the key, by which people recognize it. */
  readonly prefix: string
  /** Until when the key before a rotation stays valid; in the past for none. */
  readonly retiringUntil: number
  readonly rotatedAt: number | undefined
  /** Accurate to a minute. */
  readonly lastUsedAt: number | undefined
}

/** An API key before its first use. */
export type NewApiKey = Omit<ApiKey, 'retiringUntil' | 'rotatedAt' | 'lastUsedAt'>

/** Which API keys are listed; each member narrows it. */
export interface ApiKeyFilter {
  readonly owner?: string | undefined
  /** The beginning of the name in any case, or of the key. */
  readonly q?: string | undefined
}

/** The new key of a rotation. Times are Unix milliseconds. */
export interface ApiKeyRotation {
  readonly id: string
  /** The key that it replaces; when there is another meanwhile, nothing is rotated. */
  readonly expectedHash: string
  readonly hash: string
  readonly prefix: string
  readonly at: number
  /** How long the replaced key stays valid. */
  readonly retiringUntil: number
}

/** API keys. */
export interface ApiKeys {
  /**
   * Stores a key of a user whose credentials are still those that were read with the user; of a client, for which there
   * are none, while it exists. Otherwise false: whatever ended the owner's keys ends this one too.
   */
  create(key: NewApiKey, credentialVersion: string | undefined): Promise<boolean>
  /** The key, while it is valid and its owner is not locked. */
  findByHash(hash: string, now: number): Promise<ApiKey | undefined>
  find(id: string): Promise<ApiKey | undefined>
  /**
   * The key by the hash of what it is now or was before its last rotation, valid or not. What it was before a further
   * rotation is not known.
   */
  identify(hash: string): Promise<ApiKey | undefined>
  list(before: string | undefined, limit: number, filter?: ApiKeyFilter): Promise<ApiKey[]>
  /** False when the key is another one, or there is none. */
  rotate(rotation: ApiKeyRotation): Promise<boolean>
  /** Deletes a key, where a hash is expected only while it has that. */
  remove(id: string, expectedHash?: string): Promise<boolean>
  /** The valid keys of an owner, the newest first. */
  listByOwner(owner: string, now: number): Promise<ApiKey[]>
  /** Deletes a key of this owner. False when there is none. */
  removeByOwner(owner: string, id: string): Promise<boolean>
}

/** When a client or an API key was used, in Unix milliseconds. */
export interface LastUse {
  readonly kind: 'client' | 'api_key'
  readonly id: string
  readonly at: number
}

/** The last uses of clients and API keys. */
export interface LastUseStore {
  /** Records uses that are a minute later than what is recorded; unknown ids are left out. */
  record(uses: readonly LastUse[]): Promise<void>
}
