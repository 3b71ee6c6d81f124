import { tokenHash } from '@gatehouse/kit'
import type { Parts } from '../context/context.ts'
import type { MacKey } from '../keys/mac-key.ts'
import { signJwt } from '../keys/sign-jwt.ts'
import type { Client } from '../model/client.ts'
import type { RefreshFamily } from '../model/grant.ts'
import { claimsCoveredBy, claimsOf } from '../model/user.ts'
import { passwordAcr } from '../oauth/acr.ts'
import { makeRefreshToken } from '../oauth/refresh-token.ts'
import type { HeldGrant } from '../store/index.ts'
import { type IssueParts, issueAccessToken, type TokenResponse } from './access-token.ts'
import type { Terms } from './granted-access.ts'

/** A refresh token and the family that begins with it. */
export interface FirstRefresh {
  readonly token: string
  readonly family: RefreshFamily
}

/** The first refresh token of a grant, if offline_access is among its scopes and the client may refresh. */
export function firstRefresh(
  parts: Pick<Parts, 'lifetimes' | 'clock'>,
  mac: MacKey,
  client: Client,
  { grantId, scopes }: { readonly grantId: string; readonly scopes: readonly string[] },
): FirstRefresh | undefined {
  if (!scopes.includes('offline_access') || !client.grantTypes.includes('refresh_token')) return undefined
  const token = makeRefreshToken(mac, grantId, 1)
  const now = parts.clock.now()
  return {
    token,
    family: {
      grantId,
      generation: 1,
      currentHash: tokenHash(token),
      previousHash: undefined,
      successorSealed: undefined,
      rotatedAt: now,
      expiresAt: now + refreshSeconds(parts, client) * 1000,
    },
  }
}

/** How long a refresh token of the client lasts, in seconds. */
export function refreshSeconds({ lifetimes }: Pick<Parts, 'lifetimes'>, client: Client): number {
  return client.refreshTokenSeconds ?? lifetimes.refreshToken
}

export interface GrantTokens {
  readonly client: Client
  readonly held: HeldGrant
  readonly nonce?: string | undefined
  readonly refreshToken?: string | undefined
  readonly terms: Terms
  /** Before the grant was read, Unix milliseconds. */
  readonly issuedAt: number
}

/** The tokens under a user's grant: access token always, ID token with openid (OpenID Connect Core §3.1.3.3). */
export async function issueForGrant(parts: IssueParts, asked: GrantTokens): Promise<TokenResponse> {
  const { client, held, refreshToken } = asked
  const { scopes, target } = asked.terms
  const access = await issueAccessToken(parts, {
    client,
    subject: held.user.id,
    scopes,
    target,
    roles: held.user.roles,
    grantId: held.grant.id,
    authTime: held.grant.authTime,
    issuedAt: asked.issuedAt,
  })
  return {
    ...access,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(scopes.includes('openid') ? { id_token: await issueIdToken(parts, asked) } : {}),
  }
}

/**
 * An ID token (OpenID Connect Core §2). Claims of profile and its kin are userinfo's (§5.4), unless they were asked for one
 * by one or the client is registered for those of its scopes.
 */
async function issueIdToken(parts: IssueParts, { client, held, nonce, terms }: GrantTokens): Promise<string> {
  const { grant, user } = held
  const now = Math.floor(parts.clock.now() / 1000)
  const known = claimsOf(user)
  const registered = claimsCoveredBy(client.scopes)
  const names = new Set([...(client.idTokenClaims ? claimsCoveredBy(terms.scopes) : []), ...grant.claims.idToken])
  const told = [...names].filter((name) => registered.has(name) && known[name] !== undefined)
  return signJwt(await parts.keys.signing(client.idTokenAlgorithm), 'JWT', {
    ...Object.fromEntries(told.map((name) => [name, known[name]])),
    iss: parts.issuer,
    sub: user.id,
    aud: client.id,
    exp: now + parts.lifetimes.idToken,
    iat: now,
    auth_time: Math.floor(grant.authTime / 1000),
    acr: passwordAcr,
    amr: grant.amr,
    ...(nonce === undefined ? {} : { nonce }),
    ...(grant.sessionId === undefined ? {} : { sid: grant.sessionId }),
  })
}
