import { tokenHash } from '@gatehouse/kit'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import type { TokenContext } from '../context/context.ts'
import { signingAlgorithms } from '../model/client.ts'
import type { TokenOrganization } from '../model/organization.ts'

/** The content of a valid access token, of either format. Times are Unix seconds. */
export interface AccessTokenInfo {
  readonly subject: string
  readonly clientId: string
  readonly grantId: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  readonly roles: readonly string[]
  /** When and how the user signed in; a client that acts for itself has neither. */
  readonly authTime?: number
  readonly acr?: string
  readonly organization?: TokenOrganization
  readonly issuedAt: number
  readonly expiresAt: number
  readonly tokenId: string | undefined
}

type VerifyContext = Pick<TokenContext, 'issuer' | 'keys' | 'store' | 'clock'>

const maxTokenLength = 8_192
/** How far the clock of the process that issued a token may be ahead, in seconds: what resource servers allow too. */
const clockTolerance = 30
const opaqueToken = /^at_[\w-]{43}$/

/**
 * The content of an access token of this server, unless it has expired or is revoked. An ID token is never accepted.
 */
export async function findAccessToken(context: VerifyContext, token: string): Promise<AccessTokenInfo | undefined> {
  const info = opaqueToken.test(token) ? await findOpaque(context, token) : await verifyJwt(context, token)
  if (info === undefined || (await context.store.revocations.isRevoked(info))) return undefined
  return info
}

async function findOpaque({ store, clock }: VerifyContext, token: string): Promise<AccessTokenInfo | undefined> {
  const found = await store.accessTokens.find(tokenHash(token), clock.now())
  return (
    found && {
      ...found,
      ...(found.authTime === undefined ? {} : { authTime: Math.floor(found.authTime / 1000) }),
      issuedAt: Math.floor(found.issuedAt / 1000),
      expiresAt: Math.floor(found.expiresAt / 1000),
      tokenId: undefined,
    }
  )
}

async function verifyJwt({ issuer, keys, clock }: VerifyContext, token: string): Promise<AccessTokenInfo | undefined> {
  if (token.length > maxTokenLength) return undefined
  try {
    const { payload } = await jwtVerify(
      token,
      createLocalJWKSet((await keys.findJwks(token)) as unknown as JSONWebKeySet),
      {
        algorithms: [...signingAlgorithms],
        typ: 'at+jwt',
        issuer,
        currentDate: new Date(clock.now()),
        clockTolerance,
        requiredClaims: ['sub', 'aud', 'exp', 'iat', 'client_id', 'grant_id'],
      },
    )
    const { sub, aud, exp, iat, jti, client_id, grant_id, scope, roles, auth_time, acr, org_id, org_roles } = payload
    // The tolerance is for `nbf`: it must not lengthen the life of a token.
    if (exp === undefined || exp * 1000 <= clock.now()) return undefined
    return {
      subject: String(sub),
      clientId: String(client_id),
      grantId: String(grant_id),
      scopes: String(scope ?? '')
        .split(' ')
        .filter((name) => name !== ''),
      audience: [aud ?? []].flat(),
      roles: Array.isArray(roles) ? roles.map(String) : [],
      ...(typeof auth_time === 'number' ? { authTime: auth_time } : {}),
      ...(typeof acr === 'string' ? { acr } : {}),
      ...(typeof org_id === 'string'
        ? { organization: { id: org_id, roles: [org_roles ?? []].flat().map(String) } }
        : {}),
      issuedAt: iat ?? 0,
      expiresAt: exp,
      tokenId: jti,
    }
  } catch {
    return undefined
  }
}
