import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import { limitClient } from '../clients/limits.ts'
import type { Parts } from '../context/context.ts'
import { formParameters } from '../http/oauth-route.ts'
import { type Client, isPublic } from '../model/client.ts'
import { type AccessTokenFacts, findAccessToken } from '../oauth/access-token.ts'
import { OAuthError } from '../oauth/error.ts'
import { readRefreshToken } from '../oauth/refresh-token.ts'
import { nothingLeft, permittedScopes, scopeMember } from '../oauth/scope.ts'

export type Introspected = Record<string, unknown> & { readonly active: boolean }

const inactive: Introspected = { active: false }

/**
 * POST /introspect (RFC 7662), for confidential clients: about their own tokens, about tokens meant for them, and about
 * all of them where registered to. Whatever else is asked about is inactive.
 */
export function introspectEndpoint(
  parts: Parts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<Introspected> {
  return async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const parameters = formParameters(request)
    const client = await authenticateClient(parts, request, parameters)
    if (isPublic(client)) throw new OAuthError('unauthorized_client', 'a public client may not introspect')
    await limitClient(parts, 'introspect', client, request)
    const token = parameters.required('token')
    return (await aboutRefreshToken(parts, token, client)) ?? (await aboutAccessToken(parts, token, client)) ?? inactive
  }
}

async function aboutRefreshToken(parts: Parts, given: string, client: Client): Promise<Introspected | undefined> {
  const token = readRefreshToken(parts.refreshMac, given)
  if (token === undefined) return undefined
  const found = await parts.store.refreshFamilies.find(token.grantId)
  const now = parts.clock.now()
  const live =
    found?.family.currentHash === token.hash &&
    found.family.expiresAt > now &&
    found.grant.revokedAt === undefined &&
    found.user.lockedAt === undefined
  if (!live || found.grant.clientId !== client.id) return inactive
  const scopes = permittedScopes(found.grant.scopes, client, found.user)
  if (!scopes.includes('offline_access') || nothingLeft(found.grant.scopes, scopes)) return inactive
  return {
    active: true,
    ...scopeMember(scopes),
    client_id: client.id,
    sub: found.user.id,
    iss: parts.issuer,
    exp: Math.floor(found.family.expiresAt / 1000),
    iat: Math.floor(found.family.rotatedAt / 1000),
  }
}

async function aboutAccessToken(parts: Parts, given: string, client: Client): Promise<Introspected | undefined> {
  const facts = await findAccessToken(parts, given)
  if (facts === undefined) return undefined
  const may = client.mayIntrospect || facts.clientId === client.id || facts.audience.includes(client.id)
  return may ? answerAbout(parts, facts) : inactive
}

/** What the endpoint tells about an access token to who may know of all: the services of this very process. */
export async function introspect(parts: Parts, token: string): Promise<Introspected> {
  const facts = await findAccessToken(parts, token)
  return facts === undefined ? inactive : answerAbout(parts, facts)
}

function answerAbout(parts: Parts, facts: AccessTokenFacts): Introspected {
  return {
    active: true,
    token_type: 'Bearer',
    iss: parts.issuer,
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
  }
}
