import type { Clock } from '@gatehouse/kit'

/** When something was revoked, in Unix milliseconds. */
export interface RevocationTimes {
  readonly now: number
  /** When every token that was issued before has expired: the revocation feed forgets the entry then. */
  readonly expiresAt: number
}

const marginMs = 5 * 60_000
/** The longest lifetime of an access token, whatever a client or a resource is configured with. */
export const maxAccessTokenMs = 60 * 60_000

/**
 * How long a commit may take until which tokens are issued with what it takes away, in milliseconds. They are revoked, and
 * so are those that are right.
 */
export const commitMarginMs = 5_000

/** The current time, and when the revocation feed may forget what is revoked now. */
export function revocationTimes({ clock }: { readonly clock: Clock }): RevocationTimes {
  const now = clock.now()
  return { now, expiresAt: now + maxAccessTokenMs + marginMs }
}

/**
 * The `before` of a revocation (Unix seconds): the second after the event. Tokens carry whole seconds, so those issued in
 * the second of the event are revoked as well.
 */
export function revokedBefore(unixMs: number): number {
  return Math.floor(unixMs / 1000) + 1
}
