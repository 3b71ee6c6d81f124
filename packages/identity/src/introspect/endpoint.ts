import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import { enforceClientLimit } from '../clients/limits.ts'
import type { IntrospectionContext } from '../context/features.ts'
import { formParameters } from '../http/oauth-route.ts'
import { type Client, isPublic } from '../model/client.ts'
import { hasRequiredFactor } from '../model/factors/second-factor.ts'
import { organizationClaims } from '../model/organization.ts'
import { type AccessTokenInfo, findAccessToken } from '../oauth/access-token.ts'
import { OAuthError } from '../oauth/error.ts'
import { readRefreshToken } from '../oauth/refresh-token.ts'
import { findPermittedScopes, leavesNoAccess, scopeMember } from '../oauth/scope.ts'
import type { FamilyWithGrant } from '../store/index.ts'

/** The response of introspection (RFC 7662 §2.2). */
export type Introspected = Record<string, unknown> & { readonly active: boolean }

const inactive: Introspected = { active: false }

/**
 * POST /introspect (RFC 7662), for confidential clients: about their own tokens, tokens whose audience they are, and
 * all tokens where they are registered for it. Any other token is inactive.
 */
export function introspectEndpoint(
  context: IntrospectionContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<Introspected> {
  return async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const parameters = formParameters(request)
    const client = await authenticateClient(context, request, parameters)
    if (isPublic(client)) throw new OAuthError('unauthorized_client', 'a public client may not introspect tokens')
    await enforceClientLimit(context, 'introspect', client, request)
    const token = parameters.getRequired('token')
    return (
      (await introspectRefreshToken(context, token, client)) ??
      (await introspectAccessToken(context, token, client)) ??
      inactive
    )
  }
}

/** Of a token with which the client can't refresh now, nothing is said: RFC 7662 §2.2 calls it inactive. */
async function introspectRefreshToken(
  context: IntrospectionContext,
  presented: string,
  client: Client,
): Promise<Introspected | undefined> {
  const token = readRefreshToken(context.refreshMac, presented)
  if (token === undefined) return undefined
  const found = await context.store.refreshFamilies.find(token.grantId)
  const now = context.clock.now()
  const live =
    found?.family.currentHash === token.hash &&
    found.family.expiresAt > now &&
    found.grant.revokedAt === undefined &&
    found.user.lockedAt === undefined
  if (!live || !mayRefresh(context, client, found)) return inactive
  const { organizationId } = found.grant
  const membership =
    organizationId === undefined ? undefined : await context.store.memberships.find(organizationId, found.user.id)
  if (organizationId !== undefined && membership === undefined) return inactive
  const { user } = found
  const scopes = await findPermittedScopes(context, found.grant.scopes, { client, user, permissions: membership })
  if (!scopes.includes('offline_access') || leavesNoAccess(found.grant.scopes, scopes)) return inactive
  return {
    active: true,
    ...scopeMember(scopes),
    client_id: client.id,
    sub: found.user.id,
    iss: context.issuer,
    exp: Math.floor(found.family.expiresAt / 1000),
    iat: Math.floor(found.family.rotatedAt / 1000),
    ...organizationClaims(membership && { id: membership.organization.id, roles: membership.roles }),
  }
}

/** Whether the client may refresh tokens of the grant now, as far as that does not depend on scopes. */
function mayRefresh({ mfa }: IntrospectionContext, client: Client, { grant, requiresMfa }: FamilyWithGrant): boolean {
  if (grant.clientId !== client.id || !client.grantTypes.includes('refresh_token')) return false
  return hasRequiredFactor(grant, [client.mfa, mfa, requiresMfa ? 'required' : undefined])
}

async function introspectAccessToken(
  context: IntrospectionContext,
  presented: string,
  client: Client,
): Promise<Introspected | undefined> {
  const facts = await findAccessToken(context, presented)
  if (facts === undefined) return undefined
  const may = client.mayIntrospect || facts.clientId === client.id || facts.audience.includes(client.id)
  return may ? activeResponse(context, facts) : inactive
}

/** Introspects an access token without restrictions, for the services of this process. */
export async function introspect(context: IntrospectionContext, token: string): Promise<Introspected> {
  const facts = await findAccessToken(context, token)
  return facts === undefined ? inactive : activeResponse(context, facts)
}

function activeResponse(context: IntrospectionContext, facts: AccessTokenInfo): Introspected {
  return {
    active: true,
    token_type: 'Bearer',
    iss: context.issuer,
    sub: facts.subject,
    aud: facts.audience.length === 1 ? facts.audience[0] : facts.audience,
    client_id: facts.clientId,
    ...scopeMember(facts.scopes),
    iat: facts.issuedAt,
    nbf: facts.issuedAt,
    exp: facts.expiresAt,
    grant_id: facts.grantId,
    ...(facts.tokenId === undefined ? {} : { jti: facts.tokenId }),
    ...(facts.roles.length > 0 ? { roles: facts.roles } : {}),
    ...(facts.authTime === undefined ? {} : { auth_time: facts.authTime }),
    ...(facts.acr === undefined ? {} : { acr: facts.acr }),
    ...organizationClaims(facts.organization),
  }
}
