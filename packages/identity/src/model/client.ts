import { constantTimeEqual, tokenHash } from '@gatehouse/kit'
import type { MfaPolicy } from './factors/second-factor.ts'

/** A grant type of the token endpoint (RFC 6749 §4, RFC 8628 §3.4). */
export type GrantType =
  | 'authorization_code'
  | 'refresh_token'
  | 'client_credentials'
  | 'urn:ietf:params:oauth:grant-type:device_code'

/** The grant type of the device flow (RFC 8628 §3.4). */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Every supported grant type. */
export const grantTypes: readonly GrantType[] = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  deviceGrant,
]

/**
 * How a client authenticates (the registry of RFC 8414). Without a registered method, a secret is accepted in either
 * way.
 */
export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** Every supported authentication method. */
export const authMethods: readonly AuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
]

/** The audience of a client's assertions: the issuer, or the endpoint that they are sent to. */
export const assertionAudiences = ['issuer', 'endpoint'] as const
/** One of {@link assertionAudiences}. */
export type AssertionAudience = (typeof assertionAudiences)[number]

/** The format of access tokens: a JWT (RFC 9068), or opaque. */
export type TokenFormat = 'jwt' | 'opaque'
/** The algorithms that sign tokens (RFC 7518 §3.1, RFC 8037 §3.1). */
export type SigningAlgorithm = 'RS256' | 'ES256' | 'PS256' | 'EdDSA'
/** Every supported signing algorithm. */
export const signingAlgorithms: readonly SigningAlgorithm[] = ['RS256', 'ES256', 'PS256', 'EdDSA']

/**
 * Whether a client acts in organizations: never, for users who are members of one, or for nobody else. Its requests may
 * name the organization.
 */
export const organizationUses = ['none', 'optional', 'required'] as const
/** One of {@link organizationUses}. */
export type OrganizationUse = (typeof organizationUses)[number]

/** The registration of a client, without its id and secrets. */
export interface ClientMetadata {
  readonly name: string
  readonly authMethods: readonly AuthMethod[]
  readonly jwks?: { readonly keys: readonly Record<string, unknown>[] }
  readonly jwksUri?: string
  readonly assertionAudience: AssertionAudience
  readonly grantTypes: readonly GrantType[]
  readonly redirectUris: readonly string[]
  /** Whether redirect URIs may use a private scheme without a dot. */
  readonly dotlessRedirectSchemes?: boolean
  readonly postLogoutRedirectUris: readonly string[]
  readonly scopes: readonly string[]
  /** Identifiers of the resources it may request tokens for, beside the default API. */
  readonly resources: readonly string[]
  readonly roles: readonly string[]
  /** False only for old confidential relying parties without PKCE. */
  readonly requirePkce: boolean
  readonly requirePushedRequests: boolean
  /** Whether its tokens are for organizations. Undefined: as `optional`. */
  readonly organizations?: OrganizationUse
  /** True for the operator's own web applications, which need no consent. */
  readonly skipConsent: boolean
  /**
   * True for the operator's own public applications, which need no consent where the code goes to an https address. Set
   * by the operator alone.
   */
  readonly firstParty?: boolean
  /** The policy that counts its requests in place of a tier. */
  readonly policy?: string
  /** Whether its users must have a second factor. Default: what the instance says. */
  readonly mfa?: MfaPolicy
  /** Whether it may introspect the tokens of other clients (RFC 7662). */
  readonly mayIntrospect: boolean
  readonly accessTokenFormat?: TokenFormat
  readonly accessTokenAlgorithm?: SigningAlgorithm
  readonly idTokenAlgorithm: SigningAlgorithm
  /** Whether its ID tokens contain the claims of the granted scopes, as userinfo does. */
  readonly idTokenClaims: boolean
  readonly accessTokenSeconds?: number
  readonly refreshTokenSeconds?: number
  readonly backchannelLogoutUri?: string
  readonly allowedOrigins: readonly string[]
  /** Who publishes it, verified by the operator. */
  readonly publisher?: string
  readonly clientUri?: string
  readonly logoUri?: string
  readonly policyUri?: string
  readonly tosUri?: string
}

/** Secrets that a new one replaced. They are valid until then, in Unix milliseconds. */
export interface RetiringSecrets {
  readonly hashes: readonly string[]
  readonly until: number
}

/** A client (RFC 6749 §2). Times are Unix milliseconds. */
export interface Client extends ClientMetadata {
  readonly id: string
  readonly plan: string | undefined
  readonly secretHashes: readonly string[]
  readonly retiringSecrets: RetiringSecrets
  readonly createdAt: number
  readonly updatedAt: number
  /** When it authenticated last, accurate to a minute. */
  readonly lastUsedAt: number | undefined
}

/** Whether the client has no credential of its own (RFC 6749 §2.1). */
export function isPublic(client: ClientMetadata): boolean {
  return client.authMethods.includes('none')
}

/** The part of a client that is registered, as a change of it expects it. */
export function registrationOf({
  id: _id,
  plan,
  secretHashes: _hashes,
  retiringSecrets: _retiring,
  createdAt: _createdAt,
  updatedAt: _updatedAt,
  lastUsedAt: _lastUsedAt,
  ...metadata
}: Client): { readonly plan: string | undefined; readonly metadata: ClientMetadata } {
  return { plan, metadata }
}

/** Whether `secret` is one of the client's that is valid now, in constant time. */
export function hasSecret({ secretHashes, retiringSecrets }: Client, secret: string, now: number): boolean {
  const hash = tokenHash(secret)
  const valid = retiringSecrets.until > now ? [...secretHashes, ...retiringSecrets.hashes] : secretHashes
  return valid.reduce((found, stored) => constantTimeEqual(stored, hash) || found, false)
}
