import { randomUUID } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { Client, SigningAlgorithm } from '../client.ts'
import { signJwt } from '../keys/sign-jwt.ts'
import { OAuthError } from '../oauth-error.ts'
import type { Parts } from '../parts.ts'

/** The body of a successful token response (RFC 6749 §5.1). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly scope: string
  readonly refresh_token?: string
  readonly id_token?: string
}

export interface AccessTokenRequest {
  readonly client: Client
  readonly subject: string
  readonly scopes: readonly string[]
  /** As asked for; empty means the default API. */
  readonly resources: readonly string[]
  readonly roles: readonly string[]
  readonly grantId: string
  readonly authTime?: number
}

export type IssueParts = Pick<
  Parts,
  'issuer' | 'apiIdentifier' | 'accessTokenAlgorithm' | 'resources' | 'lifetimes' | 'keys' | 'clock' | 'store'
>

/** Mints an access token: a JWT (RFC 9068 §2), or an opaque one where the client or the resource wants it. */
export async function issueAccessToken(parts: IssueParts, asked: AccessTokenRequest): Promise<TokenResponse> {
  const audience = asked.resources.length > 0 ? asked.resources : [parts.apiIdentifier]
  const scopes = scopesFor(parts, asked.scopes, audience)
  const seconds = lifetimeFor(parts, asked.client, audience)
  const mint = isOpaque(parts, asked.client, audience) ? mintOpaque : mintJwt
  const access_token = await mint(parts, asked, audience, scopes, seconds)
  return { access_token, token_type: 'Bearer', expires_in: seconds, scope: scopes.join(' ') }
}

type Mint = (
  parts: IssueParts,
  asked: AccessTokenRequest,
  audience: readonly string[],
  scopes: readonly string[],
  seconds: number,
) => Promise<string>

const mintJwt: Mint = async (parts, asked, audience, scopes, seconds) => {
  const now = Math.floor(parts.clock.now() / 1000)
  const key = await parts.keys.signing(algorithmFor(parts, asked.client, audience))
  return signJwt(key, 'at+jwt', {
    iss: parts.issuer,
    sub: asked.subject,
    aud: audience.length === 1 ? audience[0] : audience,
    exp: now + seconds,
    iat: now,
    nbf: now,
    jti: randomUUID(),
    client_id: asked.client.id,
    scope: scopes.join(' '),
    grant_id: asked.grantId,
    ...(asked.roles.length > 0 ? { roles: asked.roles } : {}),
    ...(asked.authTime === undefined ? {} : { auth_time: Math.floor(asked.authTime / 1000) }),
  })
}

const mintOpaque: Mint = async (parts, asked, audience, scopes, seconds) => {
  const token = `at_${randomToken()}`
  const issuedAt = parts.clock.now()
  await parts.store.accessTokens.put({
    hash: tokenHash(token),
    grantId: asked.grantId,
    clientId: asked.client.id,
    subject: asked.subject,
    scopes,
    audience,
    roles: asked.roles,
    issuedAt,
    expiresAt: issuedAt + seconds * 1000,
  })
  return token
}

/** The resource verifies the token, so its word comes first. */
function algorithmFor(parts: IssueParts, client: Client, audience: readonly string[]): SigningAlgorithm {
  const chosen = audience.map((one) => parts.resources.get(one)?.access_token_signed_response_alg)
  return chosen.find((one) => one !== undefined) ?? client.accessTokenAlgorithm ?? parts.accessTokenAlgorithm
}

function isOpaque(parts: IssueParts, client: Client, audience: readonly string[]): boolean {
  const chosen = audience.map((one) => parts.resources.get(one)?.access_token_format ?? client.accessTokenFormat)
  return chosen.includes('opaque')
}

/**
 * The resources a client asked for, if it may have them (RFC 8707 §2).
 * @throws OAuthError `invalid_target` naming what is not allowed
 */
export function allowedResources(
  parts: Pick<Parts, 'apiIdentifier'>,
  client: Client,
  asked: readonly string[],
): string[] {
  const refused = asked.filter((one) => one !== parts.apiIdentifier && !client.resources.includes(one))
  if (refused.length > 0) throw new OAuthError('invalid_target', `not allowed here: ${refused.slice(0, 10).join(' ')}`)
  return [...new Set(asked)]
}

/**
 * The resources of a grant, or those of them that a client asks for (RFC 8707 §2.2).
 * @throws OAuthError `invalid_target`
 */
export function narrowedResources(granted: readonly string[], asked: readonly string[]): readonly string[] {
  if (asked.length === 0) return granted
  const refused = asked.filter((one) => !granted.includes(one))
  if (refused.length > 0) throw new OAuthError('invalid_target', `not granted: ${refused.slice(0, 10).join(' ')}`)
  return asked
}

/** A resource that declares its scopes gets no others; the OpenID Connect ones are this server's own. */
function scopesFor(parts: IssueParts, scopes: readonly string[], audience: readonly string[]): readonly string[] {
  const known = audience.map((one) => parts.resources.get(one)?.scopes)
  if (known.some((one) => one === undefined)) return scopes
  return scopes.filter((scope) => known.some((one) => one?.includes(scope)))
}

function lifetimeFor(parts: IssueParts, client: Client, audience: readonly string[]): number {
  const chosen = [
    client.accessTokenSeconds,
    ...audience.map((one) => parts.resources.get(one)?.access_token_lifetime_seconds),
  ]
  const seconds = chosen.filter((one) => one !== undefined)
  return seconds.length > 0 ? Math.min(...seconds) : parts.lifetimes.accessToken
}
