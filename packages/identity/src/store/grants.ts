import type { Access, Consent } from '../model/grants/consent.ts'
import type { AuthorizationCode, GrantRecord, RefreshFamily } from '../model/grants/grant.ts'
import type { PushedSignIn } from '../model/grants/pushed-request.ts'
import type { Rotation, RotationResult } from '../model/grants/refresh-rotation.ts'
import type { RevocationTimes } from '../model/grants/revocation-times.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from './operations.ts'

/** A grant with its user: what a token is issued from. */
export interface UserGrant {
  readonly grant: GrantRecord
  readonly user: User
}

/** A grant, and when tokens were last issued under it. */
export interface UsedGrant extends GrantRecord {
  readonly usedAt: number
}

/** The decision of a session about a device's request. */
export interface DeviceDecision {
  /** Of the request. */
  readonly hash: string
  readonly sessionId: string
  /** Undefined: denied. */
  readonly grant: GrantRecord | undefined
  /** Messages for the outbox. */
  readonly messages: readonly OutboxMessage[]
}

/** What a grant with a code depends on, beside its session and its membership. */
export interface GrantBasis {
  /** The pushed request that led to it, which the code uses up. */
  readonly pushed?: PushedSignIn | undefined
  /** The access that a stored consent must cover; undefined for a client that needs none. */
  readonly consented?: Access | undefined
}

/** Grants of users to clients. */
export interface Grants {
  /**
   * Stores a grant with its code, and uses up the pushed request that led to it. False when the session in which it was
   * granted has ended, when the consent that it depends on was withdrawn, or when a code was issued for the pushed
   * request in another sign-in or session.
   */
  open(grant: GrantRecord, code: AuthorizationCode, basis?: GrantBasis): Promise<boolean>
  find(id: string): Promise<UserGrant | undefined>
  /** The active grants of a user, the latest first. */
  listByUser(userId: string, now: number): Promise<UsedGrant[]>
  /** The active grants of a client, the latest first: those before a grant of that id. */
  listByClient(
    clientId: string,
    page: { readonly before: string | undefined; readonly limit: number },
    now: number,
  ): Promise<GrantRecord[]>
  /**
   * Revokes the grant and everything under it, and adds it to the revocation feed. True for the caller who revoked it.
   */
  revoke(id: string, end: RevocationTimes): Promise<boolean>
  /** Revokes what a user allowed a client, including the stored consent; returns the revoked grants. */
  withdraw(userId: string, clientId: string, end: RevocationTimes): Promise<string[]>
}

/** An authorization code with its grant and user. */
export interface CodeWithGrant extends UserGrant {
  readonly code: AuthorizationCode
  readonly consumedAt: number | undefined
}

/** Authorization codes. */
export interface AuthorizationCodes {
  find(hash: string): Promise<CodeWithGrant | undefined>
  /**
   * Consumes the code and starts the family in one step, while the grant is not revoked and its session exists. True for
   * exactly one caller.
   */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}

/** The refresh tokens of a grant, with the grant and its user. */
export interface FamilyWithGrant extends UserGrant {
  readonly family: RefreshFamily
  /** Whether an organization of the user requires a second factor now. */
  readonly requiresMfa: boolean
}

/** Refresh tokens, one family per grant. */
export interface RefreshFamilies {
  find(grantId: string): Promise<FamilyWithGrant | undefined>
  /** Uses a token in one atomic step, which sees every earlier revocation. */
  rotate(rotation: Rotation): Promise<RotationResult>
  /** Ends the family while it is older than the generation; answers whether this call did. Its grant goes on. */
  endOlder(grantId: string, generation: number): Promise<boolean>
}

/** A request of a device (RFC 8628). Times are Unix milliseconds. */
export interface DeviceRequest {
  readonly hash: string
  readonly userCodeHash: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  /** The organization that the client named; undefined leaves the choice to the user. */
  readonly organizationId: string | undefined
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

/** Requests of devices. */
export interface DeviceCodes {
  /** False when the user code is in use. */
  open(request: DeviceRequest): Promise<boolean>
  /**
   * Records the poll and returns the request as it was before; the interval grows by `slowDownMs` when the poll came
   * too early.
   */
  poll(hash: string, now: number, slowDownMs: number): Promise<DeviceRequest | undefined>
  /** Binds a pending request to the session that entered its code. */
  claim(userCodeHash: string, sessionId: string, now: number): Promise<DeviceRequest | undefined>
  /** By the hash of its device code or of its user code. */
  find(hash: string): Promise<DeviceRequest | undefined>
  /** Records the decision of the session that entered the code; with a grant it is an approval. */
  decide(decision: DeviceDecision, now: number): Promise<boolean>
  /** Consumes the approval and starts the family in one step. True for exactly one caller. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}

/** What a client pushed. */
export interface PushedRequest {
  readonly parameters: Record<string, string | string[]>
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** Pushed authorization requests (RFC 9126). */
export interface PushedRequests {
  put(hash: string, clientId: string, parameters: Readonly<Record<string, unknown>>, expiresAt: number): Promise<void>
  /** The request of this client, until it expires or a code was issued for it. */
  find(hash: string, clientId: string, now: number): Promise<PushedRequest | undefined>
}

/** Stored consents. */
export interface Consents {
  /** What the user allowed the client, by page. */
  find(userId: string, clientId: string): Promise<Consent[]>
  /** What the user allowed each client, merged. */
  listByUser(userId: string): Promise<Consent[]>
  /**
   * Stores what a page showed and the user allowed; it replaces pages that covered less. False when the session in
   * which it was allowed has ended. Messages are added to the outbox with it.
   */
  add(userId: string, sessionId: string, consent: Consent, messages?: readonly OutboxMessage[]): Promise<boolean>
}
