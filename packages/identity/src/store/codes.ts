import type { AuthorizationCode, RefreshFamily } from '../grant.ts'
import type { HeldGrant } from './grants.ts'

export interface FoundCode extends HeldGrant {
  readonly code: AuthorizationCode
  readonly consumedAt: number | undefined
}

export interface Codes {
  find(hash: string): Promise<FoundCode | undefined>
  /** Consumes the code and begins the family in one step. True for exactly one caller, ever. */
  consume(hash: string, now: number, family: RefreshFamily | undefined): Promise<boolean>
}
