import { randomUUID } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { ResourceDeclaration } from '../config/declarations.ts'
import type { TokenEndpointContext } from '../context/features.ts'
import { signJwt } from '../keys/sign-jwt.ts'
import type { Acr } from '../model/authentication.ts'
import type { Client, SigningAlgorithm } from '../model/client.ts'
import { organizationClaims, type TokenOrganization } from '../model/organization.ts'
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

/** When a user signed in, in Unix milliseconds, and how (RFC 9068 §2.2.1). */
export interface SignedInFacts {
  readonly at: number
  readonly acr: Acr
}

/** What an access token is issued from. */
export interface AccessTokenRequest {
  readonly client: Client
  readonly subject: string
  readonly scopes: readonly string[]
  readonly target: Target
  /** The roles claim, for APIs only: a token for userinfo alone does not have it. */
  readonly roles: readonly string[]
  readonly grantId: string
  /** How the user signed in; a client that acts for itself did not. */
  readonly signedIn?: SignedInFacts
  /** The organization that the token is for. */
  readonly organization?: TokenOrganization
  /** When the request arrived, in Unix milliseconds. */
  readonly issuedAt: number
}

/** What issuing tokens needs. */
export type IssueContext = Pick<
  TokenEndpointContext,
  'issuer' | 'apiIdentifier' | 'accessTokenAlgorithm' | 'resources' | 'lifetimes' | 'keys' | 'clock' | 'store'
>

/** Issues an access token: a JWT (RFC 9068 §2), or an opaque one where the client or the resource is configured so. */
export async function issueAccessToken(context: IssueContext, request: AccessTokenRequest): Promise<TokenResponse> {
  const { client, target } = request
  const api = target.api === undefined ? undefined : context.resources.get(target.api)
  const content: TokenContent = {
    audience: audienceOf(context, target),
    scopes: filterScopes(request.scopes, target, api),
    roles: target.api === undefined ? [] : request.roles,
    seconds: tokenLifetime(context, client, api),
    // The resource verifies the token, so its setting takes precedence.
    algorithm: api?.access_token_signed_response_alg ?? client.accessTokenAlgorithm ?? context.accessTokenAlgorithm,
  }
  const issue = (api?.access_token_format ?? client.accessTokenFormat) === 'opaque' ? issueOpaque : issueJwt
  const access_token = await issue(context, request, content)
  return { access_token, token_type: 'Bearer', expires_in: content.seconds, ...scopeMember(content.scopes) }
}

interface TokenContent {
  readonly audience: readonly string[]
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
  readonly seconds: number
  readonly algorithm: SigningAlgorithm
}

type IssueToken = (context: IssueContext, request: AccessTokenRequest, content: TokenContent) => Promise<string>

const issueJwt: IssueToken = async (context, request, { audience, scopes, roles, seconds, algorithm }) => {
  const now = Math.floor(request.issuedAt / 1000)
  const key = await context.keys.getOrCreate(algorithm)
  return signJwt(key, 'at+jwt', {
    iss: context.issuer,
    sub: request.subject,
    aud: audience.length === 1 ? audience[0] : audience,
    exp: now + seconds,
    iat: now,
    nbf: now,
    jti: randomUUID(),
    client_id: request.client.id,
    ...scopeMember(scopes),
    grant_id: request.grantId,
    ...(roles.length > 0 ? { roles } : {}),
    ...(request.signedIn && { auth_time: Math.floor(request.signedIn.at / 1000), acr: request.signedIn.acr }),
    ...organizationClaims(request.organization),
  })
}

const issueOpaque: IssueToken = async (context, request, { audience, scopes, roles, seconds }) => {
  const token = `at_${randomToken()}`
  const { issuedAt, signedIn, organization } = request
  await context.store.accessTokens.put({
    hash: tokenHash(token),
    grantId: request.grantId,
    clientId: request.client.id,
    subject: request.subject,
    scopes,
    audience,
    roles,
    ...(signedIn && { authTime: signedIn.at, acr: signedIn.acr }),
    ...(organization && { organization }),
    issuedAt,
    expiresAt: issuedAt + seconds * 1000,
  })
  return token
}

/** A resource that declares its scopes gets no others; the scopes of OpenID Connect belong to userinfo. */
function filterScopes(
  scopes: readonly string[],
  { api, userinfo }: Target,
  declared: ResourceDeclaration | undefined,
): readonly string[] {
  if (api === undefined) return scopes.filter(isUserScope)
  const known = declared?.scopes
  if (known === undefined) return scopes
  return scopes.filter((scope) => known.includes(scope) || (userinfo && isUserScope(scope)))
}

function tokenLifetime({ lifetimes }: IssueContext, client: Client, api: ResourceDeclaration | undefined): number {
  const chosen = [client.accessTokenSeconds, api?.access_token_lifetime_seconds]
  const seconds = chosen.filter((one) => one !== undefined)
  return seconds.length > 0 ? Math.min(...seconds) : lifetimes.accessToken
}
