import type { AuthorizationCode, GrantRecord } from '../grant.ts'
import type { User } from '../user.ts'
import type { RevocationTimes } from './revocations.ts'

/** A grant together with whom it is about: what a token is made from. */
export interface HeldGrant {
  readonly grant: GrantRecord
  readonly user: User
}

export interface Grants {
  /** Writes the grant and its code together. False when the session it was given in is over. */
  open(grant: GrantRecord, code: AuthorizationCode): Promise<boolean>
  find(id: string): Promise<HeldGrant | undefined>
  ofUser(userId: string, now: number): Promise<GrantRecord[]>
  /** Ends the grant and everything under it, and tells the revocation feed. True for the one who ended it. */
  revoke(id: string, end: RevocationTimes): Promise<boolean>
  /** Ends what a user allowed a client, the remembered consent included; answers the grants that ended. */
  withdraw(userId: string, clientId: string, end: RevocationTimes): Promise<string[]>
}
