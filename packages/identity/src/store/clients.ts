import type { Client, ClientMetadata, GrantType, RetiringSecrets } from '../model/client.ts'
import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { ClientPolicy } from '../model/limit-settings.ts'
import type { OutboxMessage } from './operations.ts'

/** A client to create, or the new state of one. */
export interface NewClient {
  readonly id: string
  readonly plan: string | undefined
  readonly metadata: ClientMetadata
  /** Undefined keeps the secrets of an existing client … */
  readonly secretHashes: readonly string[] | undefined
  /** … and this is the first secret of a new one. */
  readonly firstSecretHash?: string
  /** With `secretHashes`: the replaced ones that stay valid for a while. Default: none. */
  readonly retiringSecrets?: RetiringSecrets
  /** Added to the outbox with the write. */
  readonly messages?: readonly OutboxMessage[]
}

/** A logo that was fetched and checked. */
export interface ClientLogo {
  /** SHA-256 of the content, base64url. */
  readonly hash: string
  readonly mediaType: string
  readonly content: Uint8Array
}

/** The logos of clients. One that belongs to an earlier logo_uri is deleted when the client changes. */
export interface ClientLogos {
  /** The hash of the logo from this address; undefined where none is stored. */
  findHash(clientId: string, uri: string): Promise<string | undefined>
  /** A logo by its hash, whichever client has it. */
  find(hash: string): Promise<ClientLogo | undefined>
  /** Stores the logo in place of the previous one; false when the address is no longer the client's logo_uri. */
  put(clientId: string, uri: string, logo: ClientLogo, now: number): Promise<boolean>
}

/** A client as it was read: what a change expects. */
export interface ExpectedClient extends Pick<NewClient, 'plan' | 'metadata'> {
  /** For a change of the secrets, those that it replaces. */
  readonly secretHashes?: readonly string[]
}

/** Which clients are listed; each member narrows it. */
export interface ClientFilter {
  /** The beginning of the id or of the name, in any case. */
  readonly q?: string | undefined
  readonly grantType?: GrantType | undefined
  readonly scope?: string | undefined
  /** The policy that it has. */
  readonly policy?: string | undefined
}

/** Clients. */
export interface Clients {
  find(id: string): Promise<Client | undefined>
  list(after: string, limit: number, filter?: ClientFilter): Promise<Client[]>
  /** Clients that have a policy, in the order of their ids. */
  listPolicies(limit: number): Promise<ClientPolicy[]>
  /** @throws NameTaken */
  create(client: NewClient, now: number): Promise<void>
  /** Updates a client whose registration and plan are still those `expected`. */
  update(client: NewClient, expected: ExpectedClient, now: number): Promise<'changed' | 'missing' | 'outdated'>
  /**
   * Deletes the client and everything under it, and adds it to the revocation feed. Its access tokens are revoked until
   * the deletion is stored and no process caches the client: the time is read after every wait. Where a registration is
   * expected, only while it is that.
   */
  remove(id: string, removal: ClientRemoval, times: () => RevocationTimes): Promise<'changed' | 'missing' | 'outdated'>
}

/** The end of a client. */
export interface ClientRemoval {
  /** How long another process may still cache the client and issue tokens to it, in milliseconds. */
  readonly cachedMs: number
  readonly expected: ExpectedClient | undefined
}

/** What is accepted once, such as the jti of client assertions. */
export interface ReplayCache {
  /** True for the first caller with this hash. */
  add(purpose: string, hash: string, expiresAt: number): Promise<boolean>
}
