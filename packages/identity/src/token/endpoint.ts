import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import type { Parts } from '../context/context.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters, oauthErrorOf } from '../http/oauth-route.ts'
import { deviceGrant, type GrantType, grantTypes, isPublic } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import type { Parameters } from '../oauth/parameters.ts'
import type { TokenResponse } from './access-token.ts'
import { authorizationCode } from './authorization-code.ts'
import { clientCredentials } from './client-credentials.ts'
import { deviceCode } from './device-code.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { refresh } from './refresh.ts'

/** POST /token (RFC 6749 §3.2): the steps that every grant shares. */
export function tokenEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<TokenResponse> {
  const grants: Readonly<Record<GrantType, Grant>> = {
    authorization_code: authorizationCode(parts),
    refresh_token: refresh(parts),
    client_credentials: clientCredentials(parts),
    [deviceGrant]: deviceCode(parts),
  }
  const grant = async (request: FastifyRequest, reply: FastifyReply) => {
    const receivedAt = parts.clock.now()
    const parameters = formParameters(request)
    const type = grantTypeOf(parameters)
    const client = await authenticateClient(parts, request, parameters)
    allowOrigin(request, reply, client)
    if (!client.grantTypes.includes(type)) {
      throw new OAuthError('unauthorized_client', `this client may not use the grant ${type}`)
    }
    const asked = { client, parameters, request, receivedAt }
    await refuseFlood(parts, grants[type], type, asked)
    return { type, answer: await grants[type].issue(asked) }
  }
  return async (request, reply) => {
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
    try {
      const { type, answer } = await grant(request, reply)
      parts.metrics.tokensIssued(type)
      return answer
    } catch (error) {
      parts.metrics.tokenRefused(oauthErrorOf(error).code)
      throw error
    }
  }
}

/**
 * Limited by client and grant; a public client, whose name anyone can say, by address too. What no later try can mend is
 * told all the same, and an attack is still answered: a client must not wait for an answer that would be no.
 */
async function refuseFlood(parts: Parts, grant: Grant, type: GrantType, asked: TokenRequest): Promise<void> {
  const { client, request } = asked
  const identifiers = { client: client.id, grant: type }
  const decision = isPublic(client)
    ? await parts.limit('token-address', { ...identifiers, address: request.ip })
    : await parts.limit('token-client', identifiers)
  if (decision.allowed) return
  await grant.refuseHopeless?.(asked)
  const headers = { 'retry-after': String(decision.retryAfter ?? 1) }
  const code = type === deviceGrant ? 'slow_down' : 'temporarily_unavailable'
  throw new OAuthError(code, 'this client asks too often', { status: 429, headers })
}

/** A request with a code and no grant_type is a code exchange, as the specification's own request is. */
function grantTypeOf(parameters: Parameters): GrantType {
  const asked = parameters.get('grant_type') ?? (parameters.get('code') ? 'authorization_code' : undefined)
  if (asked === undefined) throw new OAuthError('invalid_request', 'the parameter grant_type is missing')
  const known = grantTypes.find((one) => one === asked)
  if (known === undefined) {
    throw new OAuthError('unsupported_grant_type', `supported are ${grantTypes.join(', ')}`)
  }
  return known
}
