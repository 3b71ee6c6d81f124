import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import type { Parts } from '../context/context.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters } from '../http/oauth-route.ts'
import { type Client, deviceGrant } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { requestedResources } from '../oauth/resource.ts'
import { allowedScopes, isUserScope, parseScope } from '../oauth/scope.ts'
import { userAgentOf } from '../sessions/browser.ts'
import { makeUserCode, userCodeHash } from './user-code.ts'

const intervalSeconds = 5
const mostTries = 5

interface DeviceAuthorization {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<DeviceAuthorization>

/** POST /device_authorization (RFC 8628 §3.1): a code for the device and one for its user. */
export function deviceAuthorizationEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const parameters = formParameters(request)
    const client = await authenticateClient(parts, request, parameters)
    allowOrigin(request, reply, client)
    if (!client.grantTypes.includes(deviceGrant)) {
      throw new OAuthError('unauthorized_client', 'this client may not use the device grant')
    }
    const deviceCode = randomToken()
    const userCode = await open(parts, request, client, parameters, tokenHash(deviceCode))
    reply.header('cache-control', 'no-store')
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${parts.issuer}/device`,
      verification_uri_complete: `${parts.issuer}/device?user_code=${userCode}`,
      expires_in: parts.lifetimes.deviceCode,
      interval: intervalSeconds,
    }
  }
}

async function open(
  parts: Parts,
  request: FastifyRequest,
  client: Client,
  parameters: Parameters,
  hash: string,
): Promise<string> {
  const asked = parseScope(parameters.get('scope'))
  const scopes =
    asked.length > 0 ? allowedScopes(asked, client.scopes) : client.scopes.filter((one) => !isUserScope(one))
  const resources = requestedResources(parts, client, scopes, parameters.all('resource'))
  const createdAt = parts.clock.now()
  for (let tries = 0; tries < mostTries; tries++) {
    const userCode = makeUserCode()
    const opened = await parts.store.deviceCodes.open({
      hash,
      userCodeHash: userCodeHash(userCode),
      clientId: client.id,
      scopes,
      resources,
      state: 'pending',
      claimedBy: undefined,
      grantId: undefined,
      intervalMs: intervalSeconds * 1000,
      polledAt: undefined,
      address: request.ip,
      userAgent: userAgentOf(request),
      createdAt,
      expiresAt: createdAt + parts.lifetimes.deviceCode * 1000,
    })
    if (opened) return userCode
  }
  throw new OAuthError('temporarily_unavailable', 'no free code was found; try again')
}
