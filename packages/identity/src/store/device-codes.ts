import type { GrantRecord, RefreshFamily } from '../grant.ts'

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
  /** By the hash of its device code or of its user code. */
  find(hash: string): Promise<DeviceRequest | undefined>
  /** The decision of the session that entered the code; with a grant it is an approval. */
  decide(hash: string, sessionId: string, grant: GrantRecord | undefined, now: number): Promise<boolean>
  /** Consumes the approval and begins the family in one step. True for exactly one caller. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}
