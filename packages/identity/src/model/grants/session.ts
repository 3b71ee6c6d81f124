/** The account at a provider through which a session was signed in to. */
export interface ProviderSession {
  readonly connectionId: string
  /** The link of the user to that account. */
  readonly linkId: string
  /** The session at the provider: the claim sid of its ID token. */
  readonly sid?: string | undefined
  /** The ID token; only where signing out here signs out there too. */
  readonly idToken?: string | undefined
  /** When the exchange began that proved it, in Unix milliseconds: a logout there from then on makes it void. */
  readonly since: number
}

/** How long a user has for the second factor of a sign-in, in milliseconds. */
export const pendingSignInMs = 10 * 60_000

/** A browser with a signed-in user. Times are Unix milliseconds. */
export interface Session {
  /** Public: the claim sid. The cookie's value is another. */
  readonly id: string
  readonly userId: string
  readonly authTime: number
  readonly amr: readonly string[]
  /** Whether a remembered device stood in for the second factor. */
  readonly remembered: boolean
  readonly userAgent: string
  readonly address: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
}
