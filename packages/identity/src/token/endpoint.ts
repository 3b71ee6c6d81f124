import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../authenticate-client.ts'
import { type GrantType, grantTypes } from '../client.ts'
import { OAuthError } from '../oauth-error.ts'
import { formParameters } from '../oauth-route.ts'
import type { Parameters } from '../parameters.ts'
import type { Parts } from '../parts.ts'
import { clientCredentials } from './client-credentials.ts'
import type { Grant } from './grant.ts'
import type { TokenResponse } from './issue.ts'

/** POST /token (RFC 6749 §3.2): the steps that every grant shares. */
export function tokenEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<TokenResponse> {
  const grants: Readonly<Partial<Record<GrantType, Grant>>> = {
    client_credentials: clientCredentials(parts),
  }
  return async (request, reply) => {
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
    const parameters = formParameters(request)
    const type = grantTypeOf(parameters)
    const client = await authenticateClient(parts, request, parameters)
    const grant = grants[type]
    if (grant === undefined || !client.grantTypes.includes(type)) {
      throw new OAuthError('unauthorized_client', `this client may not use the grant ${type}`)
    }
    return grant({ client, parameters })
  }
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
