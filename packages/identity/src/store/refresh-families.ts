import type { RefreshFamily } from '../grant.ts'
import type { HeldGrant } from './grants.ts'

export interface FoundFamily extends HeldGrant {
  readonly family: RefreshFamily
}

export interface RefreshFamilies {
  find(grantId: string): Promise<FoundFamily | undefined>
  /** Puts `next` in the place of the family whose current token is `hash`. True for exactly one caller. */
  rotate(hash: string, next: RefreshFamily): Promise<boolean>
}
