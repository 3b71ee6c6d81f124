import { randomUUID } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { ResourceDeclaration } from '../config/declarations.ts'
import type { Parts } from '../context/context.ts'
import { signJwt } from '../keys/sign-jwt.ts'
import type { Client, SigningAlgorithm } from '../model/client.ts'
import { isUserScope, scopeMember } from '../oauth/scope.ts'
import { audienceOf, type Target } from './audience.ts'

/** The body of a successful token response (RFC 6749 §5.1). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly scope?: string
  readonly refresh_token?: string
  readonly id_token?: string
}

export interface AccessTokenRequest {
  readonly client: Client
  readonly subject: string
  readonly scopes: readonly string[]
  readonly target: Target
  /** For APIs: a token for userinfo alone does not tell them. */
  readonly roles: readonly string[]
  readonly grantId: string
  readonly authTime?: number
  /** Before what it says was read, Unix milliseconds. */
  readonly issuedAt: number
}

export type IssueParts = Pick<
  Parts,
  'issuer' | 'apiIdentifier' | 'accessTokenAlgorithm' | 'resources' | 'lifetimes' | 'keys' | 'clock' | 'store'
>

/** Mints an access token: a JWT (RFC 9068 §2), or an opaque one where the client or the resource wants it. */
export async function issueAccessToken(parts: IssueParts, asked: AccessTokenRequest): Promise<TokenResponse> {
  const { client, target } = asked
  const api = target.api === undefined ? undefined : parts.resources.get(target.api)
  const content: TokenContent = {
    audience: audienceOf(parts, target),
    scopes: scopesFor(asked.scopes, target, api),
    roles: target.api === undefined ? [] : asked.roles,
    seconds: lifetimeFor(parts, client, api),
    // The resource verifies the token, so its word comes first.
    algorithm: api?.access_token_signed_response_alg ?? client.accessTokenAlgorithm ?? parts.accessTokenAlgorithm,
  }
  const mint = (api?.access_token_format ?? client.accessTokenFormat) === 'opaque' ? mintOpaque : mintJwt
  const access_token = await mint(parts, asked, content)
  return { access_token, token_type: 'Bearer', expires_in: content.seconds, ...scopeMember(content.scopes) }
}

interface TokenContent {
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
  readonly seconds: number
  readonly algorithm: SigningAlgorithm
}

type Mint = (parts: IssueParts, asked: AccessTokenRequest, content: TokenContent) => Promise<string>

const mintJwt: Mint = async (parts, asked, { audience, scopes, roles, seconds, algorithm }) => {
  const now = Math.floor(asked.issuedAt / 1000)
  const key = await parts.keys.signing(algorithm)
  return signJwt(key, 'at+jwt', {
    iss: parts.issuer,
    sub: asked.subject,
    aud: audience.length === 1 ? audience[0] : audience,
    exp: now + seconds,
    iat: now,
    nbf: now,
    jti: randomUUID(),
    client_id: asked.client.id,
    ...scopeMember(scopes),
    grant_id: asked.grantId,
    ...(roles.length > 0 ? { roles } : {}),
    ...(asked.authTime === undefined ? {} : { auth_time: Math.floor(asked.authTime / 1000) }),
  })
}

const mintOpaque: Mint = async (parts, asked, { audience, scopes, roles, seconds }) => {
  const token = `at_${randomToken()}`
  const { issuedAt } = asked
  await parts.store.accessTokens.put({
    hash: tokenHash(token),
    grantId: asked.grantId,
    clientId: asked.client.id,
    subject: asked.subject,
    scopes,
    audience,
    roles,
    issuedAt,
    expiresAt: issuedAt + seconds * 1000,
  })
  return token
}

/** A resource that declares its scopes gets no others; those of OpenID Connect are userinfo's. */
function scopesFor(
  scopes: readonly string[],
  { api, userinfo }: Target,
  declared: ResourceDeclaration | undefined,
): readonly string[] {
  if (api === undefined) return scopes.filter(isUserScope)
  const known = declared?.scopes
  if (known === undefined) return scopes
  return scopes.filter((scope) => known.includes(scope) || (userinfo && isUserScope(scope)))
}

function lifetimeFor({ lifetimes }: IssueParts, client: Client, api: ResourceDeclaration | undefined): number {
  const chosen = [client.accessTokenSeconds, api?.access_token_lifetime_seconds]
  const seconds = chosen.filter((one) => one !== undefined)
  return seconds.length > 0 ? Math.min(...seconds) : lifetimes.accessToken
}
