import type { RefreshFamily } from './grant.ts'

/** The use of a refresh token. */
export interface Rotation {
  /** The hash of the token that was presented. */
  readonly hash: string
  /** The family after the rotation, if the presented token is the current one. */
  readonly next: RefreshFamily
  /** Unix milliseconds: a repeat of the previous token is answered when it was rotated after this moment. */
  readonly graceSince: number
}

/** The result of using a refresh token. */
export type RotationResult =
  /** It was the current token and is used now: for exactly one caller. */
  | { readonly outcome: 'rotated' }
  /** It was the previous token within the grace, and its successor is unused. */
  | { readonly outcome: 'repeated'; readonly successorSealed: string }
  /** It was an older token: a copy exists. `generation` is the current one. */
  | { readonly outcome: 'reused'; readonly generation: number }
  /** The family has expired or its grant is revoked. */
  | { readonly outcome: 'ended' }

/** A family as it was when the rotation acquired its lock. */
export interface LockedFamily
  extends Pick<RefreshFamily, 'generation' | 'previousHash' | 'successorSealed' | 'rotatedAt'> {
  readonly currentHash: string
  /** Whether the rotation took place: the presented token was the current one. */
  readonly isRotated: boolean
}

/** Decides what a rotation came to (OAuth 2.1 §4.3.1), given the locked family; undefined when none is live. */
export function rotationResult({ hash, graceSince }: Rotation, family: LockedFamily | undefined): RotationResult {
  if (family === undefined) return { outcome: 'ended' }
  if (family.isRotated) return { outcome: 'rotated' }
  if (hash === family.previousHash && family.rotatedAt > graceSince && family.successorSealed !== undefined) {
    return { outcome: 'repeated', successorSealed: family.successorSealed }
  }
  return { outcome: 'reused', generation: family.generation }
}
