import { constantTimeEqual, tokenHash } from '@gatehouse/kit'

export type GrantType =
  | 'authorization_code'
  | 'refresh_token'
  | 'client_credentials'
  | 'urn:ietf:params:oauth:grant-type:device_code'

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

export const grantTypes: readonly GrantType[] = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  deviceGrant,
]

/** How a client proves who it is (RFC 8414's registry). Without one named, a secret may come either way. */
export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

export const authMethods: readonly AuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
]

/** What the assertions of a client name as their audience: the issuer, or the endpoint that they are sent to. */
export const assertionAudiences = ['issuer', 'endpoint'] as const
export type AssertionAudience = (typeof assertionAudiences)[number]

export type TokenFormat = 'jwt' | 'opaque'
/** What tokens can be signed with (RFC 7518 §3.1, RFC 8037 §3.1). */
export type SigningAlgorithm = 'RS256' | 'ES256' | 'PS256' | 'EdDSA'
export const signingAlgorithms: readonly SigningAlgorithm[] = ['RS256', 'ES256', 'PS256', 'EdDSA']

/** What is registered about a client, beside its id and secrets. */
export interface ClientMetadata {
  readonly name: string
  readonly authMethods: readonly AuthMethod[]
  readonly jwks?: { readonly keys: readonly Record<string, unknown>[] }
  readonly jwksUri?: string
  readonly assertionAudience: AssertionAudience
  readonly grantTypes: readonly GrantType[]
  readonly redirectUris: readonly string[]
  /** Whether redirect URIs may have a scheme of the application's own without a dot in it. */
  readonly dotlessRedirectSchemes?: boolean
  readonly postLogoutRedirectUris: readonly string[]
  readonly scopes: readonly string[]
  /** Identifiers of the resources it may ask tokens for, beside the default API. */
  readonly resources: readonly string[]
  readonly roles: readonly string[]
  /** False only for old confidential relying parties that don't know PKCE. */
  readonly requirePkce: boolean
  readonly requirePushedRequests: boolean
  /** True for the operator's own web applications: their users are not asked for consent. */
  readonly skipConsent: boolean
  /** May it ask about others' tokens (RFC 7662)? */
  readonly mayIntrospect: boolean
  readonly accessTokenFormat?: TokenFormat
  readonly accessTokenAlgorithm?: SigningAlgorithm
  readonly idTokenAlgorithm: SigningAlgorithm
  /** Whether its ID tokens carry the claims of the granted scopes, as userinfo does. */
  readonly idTokenClaims: boolean
  readonly accessTokenSeconds?: number
  readonly refreshTokenSeconds?: number
  readonly backchannelLogoutUri?: string
  readonly allowedOrigins: readonly string[]
  readonly clientUri?: string
  readonly logoUri?: string
  readonly policyUri?: string
  readonly tosUri?: string
}

/** A client (RFC 6749 §2): an application that wants access. */
export interface Client extends ClientMetadata {
  readonly id: string
  readonly plan: string | undefined
  readonly secretHashes: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
}

/** A client without a credential of its own (RFC 6749 §2.1). */
export function isPublic(client: ClientMetadata): boolean {
  return client.authMethods.includes('none')
}

/** Whether `secret` is one of the client's, in a time that does not tell which. */
export function hasSecret(client: Client, secret: string): boolean {
  const hash = tokenHash(secret)
  return client.secretHashes.reduce((found, stored) => constantTimeEqual(stored, hash) || found, false)
}
