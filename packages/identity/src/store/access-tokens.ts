export interface OpaqueToken {
  readonly hash: string
  readonly grantId: string
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  readonly roles: readonly string[]
  readonly issuedAt: number
  readonly expiresAt: number
}

export interface AccessTokens {
  put(token: OpaqueToken): Promise<void>
  find(hash: string, now: number): Promise<OpaqueToken | undefined>
}
