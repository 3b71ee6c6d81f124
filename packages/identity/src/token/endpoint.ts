import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import type { TokenEndpointContext } from '../context/features.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters, toOAuthError } from '../http/oauth-route.ts'
import { deviceGrant, type GrantType, grantTypes, isPublic } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import type { Parameters } from '../oauth/parameters.ts'
import type { TokenResponse } from './access-token.ts'
import { authorizationCodeGrant } from './authorization-code.ts'
import { clientCredentialsGrant } from './client-credentials.ts'
import { deviceCodeGrant } from './device-code.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { refreshGrant } from './refresh.ts'

/** POST /token (RFC 6749 §3.2): the steps that all grants share. */
export function tokenEndpoint(
  context: TokenEndpointContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<TokenResponse> {
  const grants: Readonly<Record<GrantType, Grant>> = {
    authorization_code: authorizationCodeGrant(context),
    refresh_token: refreshGrant(context),
    client_credentials: clientCredentialsGrant(context),
    [deviceGrant]: deviceCodeGrant(context),
  }
  const issueTokens = async (request: FastifyRequest, reply: FastifyReply) => {
    const receivedAt = context.clock.now()
    const parameters = formParameters(request)
    const type = parseGrantType(parameters)
    const client = await authenticateClient(context, request, parameters)
    allowOrigin(request, reply, client)
    if (!client.grantTypes.includes(type)) {
      throw new OAuthError('unauthorized_client', `the client is not registered for the ${type} grant`)
    }
    const tokenRequest = { client, parameters, httpRequest: request, receivedAt }
    await enforceTokenLimit(context, grants[type], type, tokenRequest)
    return { type, answer: await grants[type].issue(tokenRequest) }
  }
  return async (request, reply) => {
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
    try {
      const { type, answer } = await issueTokens(request, reply)
      context.metrics.tokensIssued(type)
      return answer
    } catch (error) {
      context.metrics.tokenRejected(toOAuthError(error).code)
      throw error
    }
  }
}

/**
 * Limits requests by client and grant; for a public client, whose name can be forged, by address too. Past the limit a
 * request that can never succeed still gets its error, so that the client does not retry it, and a replay still has its
 * consequences.
 */
async function enforceTokenLimit(
  context: TokenEndpointContext,
  issueTokens: Grant,
  type: GrantType,
  tokenRequest: TokenRequest,
): Promise<void> {
  const { client, httpRequest: request } = tokenRequest
  const identifiers = { client: client.id, grant: type }
  const decision = isPublic(client)
    ? await context.limit('token-address', { ...identifiers, address: request.ip })
    : await context.limit('token-client', identifiers)
  if (decision.allowed) return
  await issueTokens.rejectPermanently?.(tokenRequest)
  const headers = { 'retry-after': String(decision.retryAfter ?? 1) }
  const code = type === deviceGrant ? 'slow_down' : 'temporarily_unavailable'
  throw new OAuthError(code, 'too many requests from this client', { status: 429, headers })
}

/** A request with a code and no grant_type is a code exchange, like the request in the specification. */
function parseGrantType(parameters: Parameters): GrantType {
  const tokenRequest = parameters.get('grant_type') ?? (parameters.get('code') ? 'authorization_code' : undefined)
  if (tokenRequest === undefined) throw new OAuthError('invalid_request', 'the parameter grant_type is missing')
  const known = grantTypes.find((one) => one === tokenRequest)
  if (known === undefined) {
    throw new OAuthError('unsupported_grant_type', `grant_type must be one of ${grantTypes.join(', ')}`)
  }
  return known
}
