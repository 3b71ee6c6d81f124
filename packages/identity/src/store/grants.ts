import type { Consent } from '../model/consent.ts'
import type { AuthorizationCode, GrantRecord, RefreshFamily } from '../model/grant.ts'
import type { Rotation, RotationResult } from '../model/refresh-rotation.ts'
import type { RevocationTimes } from '../model/revocation-times.ts'
import type { User } from '../model/user.ts'

/** A grant together with whom it is about: what a token is made from. */
export interface UserGrant {
  readonly grant: GrantRecord
  readonly user: User
}

export interface Grants {
  /** Writes the grant and its code together. False when the session it was given in is over. */
  open(grant: GrantRecord, code: AuthorizationCode): Promise<boolean>
  find(id: string): Promise<UserGrant | undefined>
  listByUser(userId: string, now: number): Promise<GrantRecord[]>
  /** Ends the grant and everything under it, and tells the revocation feed. True for the one who ended it. */
  revoke(id: string, end: RevocationTimes): Promise<boolean>
  /** Ends what a user allowed a client, the remembered consent included; answers the grants that ended. */
  withdraw(userId: string, clientId: string, end: RevocationTimes): Promise<string[]>
}

export interface CodeWithGrant extends UserGrant {
  readonly code: AuthorizationCode
  readonly consumedAt: number | undefined
}

export interface AuthorizationCodes {
  find(hash: string): Promise<CodeWithGrant | undefined>
  /** Consumes the code and begins the family in one step. True for exactly one caller, ever. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}

export interface FamilyWithGrant extends UserGrant {
  readonly family: RefreshFamily
}

export interface RefreshFamilies {
  find(grantId: string): Promise<FamilyWithGrant | undefined>
  /** Uses a token: one atomic step, which sees every revocation that came before it. */
  rotate(rotation: Rotation): Promise<RotationResult>
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
  /** Notes the poll and answers the request as it was before it; the interval grows by `slowDownMs` when it came too early. */
  poll(hash: string, now: number, slowDownMs: number): Promise<DeviceRequest | undefined>
  /** Binds a pending request to the session that entered its code. */
  claim(userCodeHash: string, sessionId: string, now: number): Promise<DeviceRequest | undefined>
  /** By the hash of its device code or of its user code. */
  find(hash: string): Promise<DeviceRequest | undefined>
  /** The decision of the session that entered the code; with a grant it is an approval. */
  decide(hash: string, sessionId: string, grant: GrantRecord | undefined, now: number): Promise<boolean>
  /** Consumes the approval and begins the family in one step. True for exactly one caller. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}

export interface PushedRequests {
  put(hash: string, clientId: string, parameters: Readonly<Record<string, unknown>>, expiresAt: number): Promise<void>
  /** Takes the request away: it is given to one caller only. */
  consume(hash: string, clientId: string, now: number): Promise<Record<string, string | string[]> | undefined>
}

export interface Consents {
  /** What the user allowed the client, page by page. */
  find(userId: string, clientId: string): Promise<Consent[]>
  /** What the user allowed each client, taken together. */
  listByUser(userId: string): Promise<Consent[]>
  /**
   * Remembers what a page named and the user allowed; it takes the place of pages that named less. False when the session
   * in which it was allowed has ended.
   */
  add(userId: string, sessionId: string, consent: Consent): Promise<boolean>
}
