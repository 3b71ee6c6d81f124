/** Which claims a relying party asked for one by one (OpenID Connect Core §5.5), by where they are told. */
export interface ClaimsRequest {
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
}

/**
 * What a user allowed a client on one device. It exists from the moment of authorization; codes, refresh tokens and
 * access tokens name it and end with it. Points in time are Unix milliseconds.
 */
export interface GrantRecord {
  readonly id: string
  readonly userId: string
  readonly clientId: string
  /** The session it was given in: the claim sid. */
  readonly sessionId: string | undefined
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly claims: ClaimsRequest
  readonly authTime: number
  readonly amr: readonly string[]
  readonly userAgent: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | undefined
}

export interface AuthorizationCode {
  readonly hash: string
  readonly clientId: string
  readonly redirectUri: string
  readonly codeChallenge: string | undefined
  readonly nonce: string | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

/** The one live refresh token of a grant and the one before it, hashed. */
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
