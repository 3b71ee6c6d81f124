import { randomUUID } from 'node:crypto'
import type { Client } from '../client.ts'
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

export type IssueParts = Pick<Parts, 'issuer' | 'apiIdentifier' | 'resources' | 'lifetimes' | 'keys' | 'clock'>

/** Mints an access token as a JWT (RFC 9068 §2). */
export async function issueAccessToken(parts: IssueParts, asked: AccessTokenRequest): Promise<TokenResponse> {
  const audience = asked.resources.length > 0 ? asked.resources : [parts.apiIdentifier]
  const scope = scopesFor(parts, asked.scopes, audience).join(' ')
  const seconds = lifetimeFor(parts, asked.client, audience)
  const now = Math.floor(parts.clock.now() / 1000)
  const claims = {
    iss: parts.issuer,
    sub: asked.subject,
    aud: audience.length === 1 ? audience[0] : audience,
    exp: now + seconds,
    iat: now,
    nbf: now,
    jti: randomUUID(),
    client_id: asked.client.id,
    scope,
    grant_id: asked.grantId,
    ...(asked.roles.length > 0 ? { roles: asked.roles } : {}),
    ...(asked.authTime === undefined ? {} : { auth_time: Math.floor(asked.authTime / 1000) }),
  }
  const access_token = await signJwt(parts.keys.active('ES256'), 'at+jwt', claims)
  return { access_token, token_type: 'Bearer', expires_in: seconds, scope }
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
