/** The tokens of a session; they never leave the server. */
export interface SessionTokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** When the access token expires, in Unix milliseconds. */
  readonly expiresAt: number
}

/** A signed-in browser, as it is stored: its id as a hash, its tokens sealed. */
export interface Session {
  readonly idHash: string
  readonly userId: string
  /** The session at the provider (`sid`), by which a back-channel logout names it. */
  readonly providerSessionId: string
  readonly tokensSealed: string
  /** When the access token expires, in Unix milliseconds. */
  readonly tokensExpireAt: number
  /** Counts the tokens of this session: whoever refreshed writes the next number. */
  readonly generation: number
  readonly createdAt: number
  readonly seenAt: number
}

/** How long a session lasts without a request, in milliseconds. */
const maxIdleMs = 30 * 60_000
/** How long a session lasts at most, in milliseconds. */
export const maxAgeMs = 12 * 60 * 60_000
/** How many sessions a user has at once; a further sign-in ends the oldest. */
export const maxSessionsPerUser = 20

/** The two moments before which a session must not have been created, and last been used. */
export function liveSince(now: number): { readonly createdAfter: number; readonly seenAfter: number } {
  return { createdAfter: now - maxAgeMs, seenAfter: now - maxIdleMs }
}

/** The purpose that the tokens of a session are sealed for: another row's are refused. */
export function sealingPurpose(idHash: string): string {
  return `console session ${idHash}`
}
