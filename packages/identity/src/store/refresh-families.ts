import type { RefreshFamily } from '../grant.ts'
import type { HeldGrant } from './grants.ts'

export interface FoundFamily extends HeldGrant {
  readonly family: RefreshFamily
}

/** The use of a refresh token. */
export interface Rotation {
  /** The token that was presented, hashed. */
  readonly hash: string
  /** What takes its place if it is the current one. */
  readonly next: RefreshFamily
  /** The last token used may come again if that was after this moment. */
  readonly graceSince: number
}

/** What the use of a refresh token came to. */
export type Rotated =
  /** It was the current one and is used now: for exactly one caller, ever. */
  | { readonly outcome: 'rotated' }
  /** It was the last one used, and its successor is still unused. */
  | { readonly outcome: 'repeated'; readonly successorSealed: string }
  /** An older one: somebody holds a copy. */
  | { readonly outcome: 'reused'; readonly generation: number }
  /** The family or its grant is over. */
  | { readonly outcome: 'ended' }

export interface RefreshFamilies {
  find(grantId: string): Promise<FoundFamily | undefined>
  /** Uses a token: one atomic step, which sees every revocation that came before it. */
  rotate(rotation: Rotation): Promise<Rotated>
}
