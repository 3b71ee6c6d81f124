import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { findAccessToken } from '../access-token.ts'
import { allowOriginOf } from '../cors.ts'
import type { Form } from '../parameters.ts'
import type { Parts } from '../parts.ts'
import { claimsOf, claimsOfScope } from '../user.ts'

/**
 * GET and POST /userinfo (OpenID Connect Core §5.3): the claims that the token's scopes allow, and those that were asked
 * for one by one.
 */
export function userinfoEndpoint(
  parts: Parts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<Record<string, unknown>> {
  return async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const token = bearerOf(request)
    const facts = token === undefined ? undefined : await findAccessToken(parts, token)
    if (facts !== undefined) await allowOriginOf(parts, request, reply, facts.clientId)
    const held = facts && (await parts.store.grants.find(facts.grantId))
    if (
      facts === undefined ||
      held === undefined ||
      held.grant.revokedAt !== undefined ||
      held.user.lockedAt !== undefined
    ) {
      throw refusal(401, token === undefined ? undefined : 'invalid_token', 'A valid access token is needed.')
    }
    if (!facts.scopes.includes('openid'))
      throw refusal(403, 'insufficient_scope', 'The scope openid is missing.', 'openid')
    const known = claimsOf(held.user)
    const names = new Set<string>(held.grant.claims.userinfo)
    for (const [scope, claims] of Object.entries(claimsOfScope)) {
      if (facts.scopes.includes(scope)) for (const name of claims) names.add(name)
    }
    const told = [...names].filter((name) => known[name] !== undefined).map((name) => [name, known[name]] as const)
    return { ...Object.fromEntries(told), sub: held.user.id }
  }
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
