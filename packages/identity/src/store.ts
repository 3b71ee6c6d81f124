import type { Client, ClientMetadata, SigningAlgorithm } from './client.ts'
import type { AuthorizationCode, GrantRecord, RefreshFamily } from './grant.ts'
import type { Session } from './session.ts'
import type { User } from './user.ts'

/** Who was written: made afresh, or changed. */
export type Written = 'created' | 'updated'

export interface NewClient {
  readonly id: string
  readonly plan: string | undefined
  readonly metadata: ClientMetadata
  /** Undefined leaves the secrets of a client that exists as they are … */
  readonly secretHashes: readonly string[] | undefined
  /** … and one that doesn't exist yet begins with this. */
  readonly firstSecretHash?: string
}

export interface NewUser {
  readonly id: string
  readonly username: string
  readonly plan: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
  /** Undefined leaves the password of a user who exists as it is … */
  readonly passwordHash: string | undefined
  /** … and one who doesn't exist yet begins with this. */
  readonly firstPasswordHash?: string
}

/** A unique name (an id, a username, an address) belongs to somebody else. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken'
  readonly member: 'id' | 'username' | 'email'

  constructor(member: NameTaken['member'], message: string) {
    super(message)
    this.member = member
  }
}

export interface Clients {
  find(id: string): Promise<Client | undefined>
  list(after: string, most: number): Promise<Client[]>
  /** @throws NameTaken */
  create(client: NewClient, now: number): Promise<void>
  /** False when there is no such client. */
  update(client: NewClient, now: number): Promise<boolean>
  /** Ends the client and everything under it, and tells the revocation feed. */
  remove(id: string, end: RevocationTimes): Promise<boolean>
}

export interface Users {
  find(id: string): Promise<User | undefined>
  /** By username or address, in normal form. */
  findByLogin(login: string): Promise<User | undefined>
  list(after: string, most: number): Promise<User[]>
  /** @throws NameTaken */
  create(user: NewUser, outbox: readonly OutboxMessage[], now: number): Promise<void>
  /** Changes what is known of the user, with messages for the outbox. False when there is no such user. @throws NameTaken */
  update(user: NewUser, outbox: readonly OutboxMessage[], now: number): Promise<boolean>
  /** Deletes the user and everything of theirs, and tells the revocation feed. */
  remove(id: string, end: RevocationTimes): Promise<boolean>
}

/** What changes who may come in as a user. */
export interface Accounts {
  /** Sets the password and ends every grant and session but `keepSession`. */
  setPassword(userId: string, hash: string, keepSession: string | undefined, end: RevocationTimes): Promise<boolean>
  /** Locks or unlocks; locking ends every grant and session. */
  setLocked(userId: string, locked: boolean, end: RevocationTimes): Promise<boolean>
  putLink(link: MailedLink, message: OutboxMessage): Promise<void>
  findLink(hash: string, purpose: MailedLink['purpose'], now: number): Promise<MailedLink | undefined>
  /** Uses the link, and what it is for happens in the same step: the address is verified, or the password set. */
  useLink(
    hash: string,
    purpose: MailedLink['purpose'],
    passwordHash: string | undefined,
    end: RevocationTimes,
  ): Promise<boolean>
}

export interface MailedLink {
  readonly hash: string
  readonly purpose: 'verify' | 'reset'
  readonly userId: string
  readonly email: string
  readonly expiresAt: number
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
  findByHash(hash: string, now: number): Promise<ApiKey | undefined>
  list(after: string, most: number): Promise<ApiKey[]>
  remove(id: string): Promise<boolean>
}

/** Users and clients share one space of names; each has a plan. */
export interface Subjects {
  planOf(id: string): Promise<{ readonly plan: string | undefined; readonly kind: 'user' | 'client' } | undefined>
}

/** What the configuration file declares; last edit wins. Each answers what it wrote, and how. */
export interface Declared {
  clients(entries: readonly DeclaredEntry<NewClient>[], now: number): Promise<Map<string, Written>>
  /** With each user that it writes, what `tell` makes goes into the outbox. */
  users(
    entries: readonly DeclaredEntry<NewUser>[],
    tell: (userId: string) => OutboxMessage,
    now: number,
  ): Promise<Map<string, Written>>
}

export interface DeclaredEntry<Record> {
  readonly id: string
  /** What was declared: compared with what was declared last time. */
  readonly entry: unknown
  /** Called only when the entry is to be written. */
  readonly record: () => Promise<Record>
}

export interface StoredKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly publicJwk: Readonly<Record<string, unknown>>
  readonly privateSealed: string
  readonly createdAt: number
  /** From here on it signs, if it is the youngest. */
  readonly activatesAt: number
  /** From here on nothing it signed is valid; undefined while it is the one that signs. */
  readonly expiresAt: number | undefined
}

export interface SigningKeyRows {
  /** Those that are not expired, the youngest first. */
  all(now: number): Promise<StoredKey[]>
  /**
   * Adds a key and ends the others of its algorithm at `othersExpireAt`, unless one was added after `unlessSince`.
   * True for the one process that added.
   */
  add(key: StoredKey, othersExpireAt: number, unlessSince: number): Promise<boolean>
  /** Removes what is expired. */
  purge(now: number): Promise<number>
}

export interface Sessions {
  start(session: Session, secretHash: string): Promise<void>
  /** The live session behind the cookie, with its user; remembers that it was seen. */
  find(secretHash: string, now: number): Promise<{ session: Session; user: User } | undefined>
  ofUser(userId: string, now: number): Promise<Session[]>
  /** Ends a session of the user, and puts what `tell` makes for the clients that were used in it into the outbox. */
  end(id: string, userId: string, tell: (clientIds: string[]) => OutboxMessage[]): Promise<boolean>
}

/** A grant together with whom it is about: what a token is made from. */
export interface HeldGrant {
  readonly grant: GrantRecord
  readonly user: User
}

export interface Grants {
  /** Writes the grant and its code together. */
  open(grant: GrantRecord, code: AuthorizationCode): Promise<void>
  find(id: string): Promise<HeldGrant | undefined>
  ofUser(userId: string, now: number): Promise<GrantRecord[]>
  /** Ends the grant and everything under it, and tells the revocation feed. True for the one who ended it. */
  revoke(id: string, end: RevocationTimes): Promise<boolean>
  /** Ends what a user allowed a client, the remembered consent included; answers the grants that ended. */
  withdraw(userId: string, clientId: string, end: RevocationTimes): Promise<string[]>
}

export interface RevocationTimes {
  readonly now: number
  /** When nothing that was issued before can be valid any more: the feed forgets it then. */
  readonly expiresAt: number
}

export interface FoundCode extends HeldGrant {
  readonly code: AuthorizationCode
  readonly consumedAt: number | undefined
}

export interface Codes {
  find(hash: string): Promise<FoundCode | undefined>
  /** Consumes the code and begins the family in one step. True for exactly one caller, ever. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}

export interface FoundFamily extends HeldGrant {
  readonly family: RefreshFamily
}

export interface RefreshFamilies {
  find(grantId: string): Promise<FoundFamily | undefined>
  /** Puts `next` in the place of the family whose current token is `hash`. True for exactly one caller. */
  rotate(hash: string, next: RefreshFamily): Promise<boolean>
}

/** One thing that the revocation feed tells. `before` is in Unix seconds: tokens issued earlier are refused. */
export type Revocation =
  | { readonly grant: string }
  | { readonly subject: string; readonly before: number }
  | { readonly client: string; readonly before: number }

export interface Revocations {
  after(position: number, most: number, now: number): Promise<{ revocations: Revocation[]; next: number }>
  add(revocation: Revocation, end: RevocationTimes): Promise<void>
  /** Whether a token of this grant, subject and client, issued then (Unix seconds), is revoked. */
  hits(token: { grantId: string; subject: string; clientId: string; issuedAt: number }): Promise<boolean>
}

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

export interface DeviceRequest {
  readonly hash: string
  readonly userCodeHash: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly state: 'pending' | 'approved' | 'denied' | 'consumed'
  /** The session that entered the user code; no other may decide. */
  readonly claimedBy: string | undefined
  readonly grantId: string | undefined
  readonly intervalMs: number
  readonly polledAt: number | undefined
  readonly address: string
  readonly userAgent: string
  readonly createdAt: number
  readonly expiresAt: number
}

export interface DeviceCodes {
  /** False when the user code is in use. */
  open(request: DeviceRequest): Promise<boolean>
  /** Notes the poll and answers the request as it was before it; the interval grows when it came too early. */
  poll(hash: string, now: number): Promise<DeviceRequest | undefined>
  /** Binds a pending request to the session that entered its code. */
  claim(userCodeHash: string, sessionId: string, now: number): Promise<DeviceRequest | undefined>
  /** The decision of the session that entered the code; with a grant it is an approval. */
  decide(hash: string, sessionId: string, grant: GrantRecord | undefined, now: number): Promise<boolean>
  /** Consumes the approval and begins the family in one step. True for exactly one caller. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}

export interface PushedRequests {
  put(hash: string, clientId: string, parameters: Readonly<Record<string, unknown>>, expiresAt: number): Promise<void>
  /** Takes the request away: it is given to one caller only. */
  take(hash: string, clientId: string, now: number): Promise<Record<string, string | string[]> | undefined>
}

export interface Consent {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly grantedAt: number
}

export interface Consents {
  find(userId: string, clientId: string): Promise<Consent | undefined>
  ofUser(userId: string): Promise<Consent[]>
  /** Adds to what the user allowed the client before. */
  add(userId: string, consent: Consent): Promise<void>
}

export interface UsedOnce {
  /** True for the first caller who names it. */
  use(purpose: string, hash: string, expiresAt: number): Promise<boolean>
}

export interface OutboxMessage {
  readonly id: string
  readonly kind: 'mail' | 'recipient' | 'logout'
  readonly subject: string
  readonly payloadSealed: string
  readonly dueAt: number
  readonly expiresAt: number
}

export interface Outbox {
  put(messages: readonly OutboxMessage[]): Promise<void>
  /** Takes due messages for `leaseMs`; nobody else gets them in that time. */
  claim(now: number, leaseMs: number, most: number): Promise<(OutboxMessage & { attempts: number })[]>
  done(id: string): Promise<void>
  /** Tries again at `dueAt`. */
  postpone(id: string, dueAt: number): Promise<void>
}

export interface AuditEvent {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditQuery {
  readonly type?: string | undefined
  readonly subject?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** The id of the last event seen. */
  readonly after?: string | undefined
  readonly most: number
}

export interface AuditTrail {
  record(event: AuditEvent): Promise<void>
  list(query: AuditQuery): Promise<AuditEvent[]>
}

export interface Purge {
  /** Removes up to `most` rows of each kind that have ended; answers how many went. */
  purge(now: number, auditBefore: number, most: number): Promise<number>
}

/** Everything identity keeps, by role. A feature asks for its roles only. */
export interface IdentityStore {
  readonly clients: Clients
  readonly users: Users
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  readonly subjects: Subjects
  readonly declared: Declared
  readonly signingKeys: SigningKeyRows
  readonly sessions: Sessions
  readonly grants: Grants
  readonly codes: Codes
  readonly refreshFamilies: RefreshFamilies
  readonly revocations: Revocations
  readonly accessTokens: AccessTokens
  readonly deviceCodes: DeviceCodes
  readonly pushedRequests: PushedRequests
  readonly consents: Consents
  readonly usedOnce: UsedOnce
  readonly outbox: Outbox
  readonly audit: AuditTrail
  readonly purge: Purge
  ping(): Promise<void>
}
