import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../context/context.ts'
import { allowOriginOf } from '../http/cors.ts'
import { claimsCoveredBy, claimsOf } from '../model/user.ts'
import { type AccessTokenFacts, findAccessToken } from '../oauth/access-token.ts'
import type { Form } from '../oauth/parameters.ts'
import { userinfoResource } from '../oauth/resource.ts'

/**
 * GET and POST /userinfo (OpenID Connect Core §5.3): the claims that the token's scopes allow, and those that were asked
 * for one by one. It takes the tokens that name it as an audience: one for another API, wherever that got to, tells
 * nothing here.
 */
export function userinfoEndpoint(
  parts: Parts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<Record<string, unknown>> {
  return async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const token = bearerOf(request)
    const facts = token === undefined ? undefined : await findAccessToken(parts, token)
    if (facts !== undefined) await allowOriginOf(parts, request, reply, facts.clientId)
    if (facts !== undefined && !facts.audience.includes(userinfoResource(parts))) {
      throw refusal(401, 'invalid_token', 'The access token is for another audience.')
    }
    const told = facts && (await claimsFor(parts, facts))
    if (facts === undefined || told === undefined) {
      throw refusal(401, token === undefined ? undefined : 'invalid_token', 'A valid access token is needed.')
    }
    if (!facts.scopes.includes('openid'))
      throw refusal(403, 'insufficient_scope', 'The scope openid is missing.', 'openid')
    return told
  }
}

/** What a token's client may know of its user now; undefined when the grant has ended. */
async function claimsFor(parts: Parts, facts: AccessTokenFacts): Promise<Record<string, unknown> | undefined> {
  const [client, held] = await Promise.all([parts.clients.find(facts.clientId), parts.store.grants.find(facts.grantId)])
  if (client === undefined || held === undefined) return undefined
  if (held.grant.revokedAt !== undefined || held.user.lockedAt !== undefined) return undefined
  const registered = claimsCoveredBy(client.scopes)
  const names = new Set([...claimsCoveredBy(facts.scopes), ...held.grant.claims.userinfo])
  const known = claimsOf(held.user)
  const told = [...names].filter((name) => registered.has(name) && known[name] !== undefined)
  return { ...Object.fromEntries(told.map((name) => [name, known[name]])), sub: held.user.id }
}

/** The token, in the header or in a form, never in the address (RFC 6750 §2.1, §2.2). */
function bearerOf(request: FastifyRequest): string | undefined {
  const inHeader = /^Bearer +([\w\-.~+/]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
  const inForm = request.method === 'POST' ? tokenInForm((request.body ?? {}) as Form) : undefined
  if (inHeader !== undefined && inForm !== undefined) {
    throw refusal(400, 'invalid_request', 'The token came in two ways.')
  }
  return inHeader ?? inForm
}

function tokenInForm(form: Form): string | undefined {
  const token = form.access_token
  if (token === undefined || typeof token === 'string') return token || undefined
  throw refusal(400, 'invalid_request', 'The token came more than once.')
}

function refusal(status: number, error: string | undefined, detail: string, scope?: string): Problem {
  const challenge = [
    'realm="gatehouse"',
    ...(error ? [`error="${error}"`, `error_description="${detail}"`] : []),
    ...(scope ? [`scope="${scope}"`] : []),
  ]
  return new Problem(status, detail, { headers: { 'www-authenticate': `Bearer ${challenge.join(', ')}` } })
}
