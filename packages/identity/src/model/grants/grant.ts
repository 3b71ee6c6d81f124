/** The claims that a relying party requested by name (OpenID Connect Core §5.5), by where they are returned. */
export interface ClaimsRequest {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
}

/**
 * What a user allowed a client on one device. Created at authorization; codes, refresh tokens and access tokens refer
 * to it and are revoked with it. Times are Unix milliseconds.
 */
export interface GrantRecord {
  readonly id: string
  readonly userId: string
  readonly clientId: string
  /** The session in which it was granted: the claim sid. */
  readonly sessionId: string | undefined
  /** The organization that its tokens are for. */
  readonly organizationId: string | undefined
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly claims: ClaimsRequest
  readonly authTime: number
  readonly amr: readonly string[]
  /** Whether a remembered device stood in for the second factor. */
  readonly remembered: boolean
  readonly userAgent: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | undefined
}

/** An authorization code, by its hash (RFC 6749 §4.1.2). Times are Unix milliseconds. */
export interface AuthorizationCode {
  readonly hash: string
  readonly clientId: string
  readonly redirectUri: string
  readonly codeChallenge: string | undefined
  readonly nonce: string | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

/** The refresh tokens of a grant: the current one and the previous one, as hashes. */
export interface RefreshFamily {
  readonly grantId: string
  readonly generation: number
  readonly currentHash: string
  readonly previousHash: string | undefined
  /** The current token, sealed under the previous one. */
  readonly successorSealed: string | undefined
  readonly rotatedAt: number
  readonly expiresAt: number
}
