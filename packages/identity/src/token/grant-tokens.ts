import { tokenHash } from '@gatehouse/kit'
import type { TokenEndpointContext } from '../context/features.ts'
import type { MacKey } from '../keys/mac-key.ts'
import { signJwt } from '../keys/sign-jwt.ts'
import { acrOf } from '../model/authentication.ts'
import type { Client } from '../model/client.ts'
import type { RefreshFamily } from '../model/grants/grant.ts'
import { organizationClaims } from '../model/organization.ts'
import { claimsCoveredBy, claimsOf } from '../model/user.ts'
import { createRefreshToken } from '../oauth/refresh-token.ts'
import type { UserGrant } from '../store/index.ts'
import { type IssueContext, issueAccessToken, type TokenResponse } from './access-token.ts'
import type { GrantedAccess } from './granted-access.ts'

/** A refresh token and the family that starts with it. */
export interface NewRefreshFamily {
  readonly token: string
  readonly family: RefreshFamily
}

/** Creates the first refresh token of a grant, if offline_access is granted and the client may refresh. */
export function createRefreshFamily(
  context: Pick<TokenEndpointContext, 'lifetimes' | 'clock'>,
  mac: MacKey,
  client: Client,
  { grantId, scopes }: { readonly grantId: string; readonly scopes: readonly string[] },
): NewRefreshFamily | undefined {
  if (!scopes.includes('offline_access') || !client.grantTypes.includes('refresh_token')) return undefined
  const token = createRefreshToken(mac, grantId, 1)
  const now = context.clock.now()
  return {
    token,
    family: {
      grantId,
      generation: 1,
      currentHash: tokenHash(token),
      previousHash: undefined,
      successorSealed: undefined,
      rotatedAt: now,
      expiresAt: now + refreshLifetime(context, client) * 1000,
    },
  }
}

/** The lifetime of the client's refresh tokens, in seconds. */
export function refreshLifetime({ lifetimes }: Pick<TokenEndpointContext, 'lifetimes'>, client: Client): number {
  return client.refreshTokenSeconds ?? lifetimes.refreshToken
}

/** What the tokens of a grant are issued from. */
export interface GrantTokenRequest {
  readonly client: Client
  readonly userGrant: UserGrant
  readonly nonce?: string | undefined
  readonly refreshToken?: string | undefined
  readonly terms: GrantedAccess
  /** When the request arrived, in Unix milliseconds. */
  readonly issuedAt: number
}

/** Issues the tokens of a user's grant: an access token, and an ID token with openid (OpenID Connect Core §3.1.3.3). */
export async function issueGrantTokens(context: IssueContext, request: GrantTokenRequest): Promise<TokenResponse> {
  const { client, userGrant, refreshToken } = request
  const { scopes, target, organization } = request.terms
  const access = await issueAccessToken(context, {
    client,
    subject: userGrant.user.id,
    scopes,
    target,
    roles: userGrant.user.roles,
    grantId: userGrant.grant.id,
    signedIn: { at: userGrant.grant.authTime, acr: acrOf(userGrant.grant.amr) },
    ...(organization && { organization }),
    issuedAt: request.issuedAt,
  })
  return {
    ...access,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(scopes.includes('openid') ? { id_token: await issueIdToken(context, request) } : {}),
  }
}

/**
 * Issues an ID token (OpenID Connect Core §2). Profile claims are returned by userinfo (§5.4), unless they were
 * requested by name or the client is registered for them in ID tokens.
 */
async function issueIdToken(
  context: IssueContext,
  { client, userGrant, nonce, terms }: GrantTokenRequest,
): Promise<string> {
  const { grant, user } = userGrant
  const now = Math.floor(context.clock.now() / 1000)
  const known = claimsOf(user)
  const registered = claimsCoveredBy(client.scopes)
  const names = new Set([...(client.idTokenClaims ? claimsCoveredBy(terms.scopes) : []), ...grant.claims.idToken])
  const claimNames = [...names].filter((name) => registered.has(name) && known[name] !== undefined)
  return signJwt(await context.keys.getOrCreate(client.idTokenAlgorithm), 'JWT', {
    ...Object.fromEntries(claimNames.map((name) => [name, known[name]])),
    iss: context.issuer,
    sub: user.id,
    aud: client.id,
    exp: now + context.lifetimes.idToken,
    iat: now,
    auth_time: Math.floor(grant.authTime / 1000),
    acr: acrOf(grant.amr),
    amr: grant.amr,
    ...organizationClaims(terms.organization),
    ...(nonce === undefined ? {} : { nonce }),
    ...(grant.sessionId === undefined ? {} : { sid: grant.sessionId }),
  })
}
