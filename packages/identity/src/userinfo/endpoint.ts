import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { UserinfoContext } from '../context/features.ts'
import { allowOriginOfClient } from '../http/cors.ts'
import { claimsCoveredBy, claimsOf } from '../model/user.ts'
import { type AccessTokenInfo, findAccessToken } from '../oauth/access-token.ts'
import type { Form } from '../oauth/parameters.ts'
import { userinfoResource } from '../oauth/resource.ts'

/**
 * GET and POST /userinfo (OpenID Connect Core §5.3): the claims that the scopes of the token cover, and those that were
 * requested by name. The token must name userinfo as an audience, so a token that leaked from an API is useless here.
 */
export function userinfoEndpoint(
  context: UserinfoContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<Record<string, unknown>> {
  return async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const token = readBearer(request)
    const facts = token === undefined ? undefined : await findAccessToken(context, token)
    if (facts !== undefined) await allowOriginOfClient(context, request, reply, facts.clientId)
    if (facts !== undefined && !facts.audience.includes(userinfoResource(context))) {
      throw bearerError(401, 'invalid_token', 'The access token is for another audience.')
    }
    const claims = facts && (await readClaims(context, facts))
    if (facts === undefined || claims === undefined) {
      throw bearerError(401, token === undefined ? undefined : 'invalid_token', 'A valid access token is required.')
    }
    if (!facts.scopes.includes('openid'))
      throw bearerError(403, 'insufficient_scope', 'The scope openid is missing.', 'openid')
    return claims
  }
}

/** The claims that the token's client may read now; undefined when the grant is no longer active. */
async function readClaims(
  context: UserinfoContext,
  facts: AccessTokenInfo,
): Promise<Record<string, unknown> | undefined> {
  const [client, userGrant] = await Promise.all([
    context.clients.find(facts.clientId),
    context.store.grants.find(facts.grantId),
  ])
  if (client === undefined || userGrant === undefined) return undefined
  if (userGrant.grant.revokedAt !== undefined || userGrant.user.lockedAt !== undefined) return undefined
  const registered = claimsCoveredBy(client.scopes)
  const names = new Set([...claimsCoveredBy(facts.scopes), ...userGrant.grant.claims.userinfo])
  const known = claimsOf(userGrant.user)
  const claims = [...names].filter((name) => registered.has(name) && known[name] !== undefined)
  return { ...Object.fromEntries(claims.map((name) => [name, known[name]])), sub: userGrant.user.id }
}

/** The token from the header or the form, never from the query (RFC 6750 §2.1, §2.2). */
function readBearer(request: FastifyRequest): string | undefined {
  const inHeader = /^Bearer +([\w\-.~+/]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
  const inForm = request.method === 'POST' ? readFormToken((request.body ?? {}) as Form) : undefined
  if (inHeader !== undefined && inForm !== undefined) {
    throw bearerError(400, 'invalid_request', 'The access token must be sent in one way only.')
  }
  return inHeader ?? inForm
}

function readFormToken(form: Form): string | undefined {
  const token = form.access_token
  if (token === undefined || typeof token === 'string') return token || undefined
  throw bearerError(400, 'invalid_request', 'The access token must be sent once only.')
}

function bearerError(status: number, error: string | undefined, detail: string, scope?: string): Problem {
  const challenge = [
    'realm="gatehouse"',
    ...(error ? [`error="${error}"`, `error_description="${detail}"`] : []),
    ...(scope ? [`scope="${scope}"`] : []),
  ]
  return new Problem(status, detail, { headers: { 'www-authenticate': `Bearer ${challenge.join(', ')}` } })
}
