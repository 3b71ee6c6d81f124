import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import { enforceClientLimit } from '../clients/limits.ts'
import type { DeviceAuthorizationContext } from '../context/features.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters } from '../http/oauth-route.ts'
import { type Client, deviceGrant } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import { parseOrganization } from '../oauth/organization.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { parseResources } from '../oauth/resource.ts'
import { isUserScope, parseScope, requireAllowedScopes } from '../oauth/scope.ts'
import { readUserAgent } from '../sessions/browser.ts'
import { makeUserCode, userCodeHash } from './user-code.ts'

const intervalSeconds = 5
const maxAttempts = 5

interface DeviceAuthorization {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<DeviceAuthorization>

/** POST /device_authorization (RFC 8628 §3.1): issues a device code and a user code. */
export function deviceAuthorizationEndpoint(context: DeviceAuthorizationContext): Handler {
  return async (request, reply) => {
    const parameters = formParameters(request)
    const client = await authenticateClient(context, request, parameters)
    allowOrigin(request, reply, client)
    await enforceClientLimit(context, 'device', client, request)
    if (!client.grantTypes.includes(deviceGrant)) {
      throw new OAuthError('unauthorized_client', 'the client is not registered for the device_code grant')
    }
    const deviceCode = randomToken()
    const userCode = await openDeviceRequest(context, request, { client, parameters, hash: tokenHash(deviceCode) })
    reply.header('cache-control', 'no-store')
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${context.issuer}/device`,
      verification_uri_complete: `${context.issuer}/device?user_code=${userCode}`,
      expires_in: context.lifetimes.deviceCode,
      interval: intervalSeconds,
    }
  }
}

interface DeviceAuthorizationRequest {
  readonly client: Client
  readonly parameters: Parameters
  /** Of the device code. */
  readonly hash: string
}

/** Stores the request under a user code that is free, and answers that code. */
async function openDeviceRequest(
  context: DeviceAuthorizationContext,
  request: FastifyRequest,
  { client, parameters, hash }: DeviceAuthorizationRequest,
): Promise<string> {
  const requested = parseScope(parameters.get('scope'))
  const scopes =
    requested.length > 0
      ? requireAllowedScopes(requested, client.scopes)
      : client.scopes.filter((one) => !isUserScope(one))
  const resources = parseResources(context, client, scopes, parameters.getAll('resource'))
  const organizationId = parseOrganization(client.organizations, parameters.get('organization'))
  const createdAt = context.clock.now()
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    const userCode = makeUserCode()
    const opened = await context.store.deviceCodes.open({
      hash,
      userCodeHash: userCodeHash(userCode),
      clientId: client.id,
      scopes,
      resources,
      organizationId,
      state: 'pending',
      claimedBy: undefined,
      grantId: undefined,
      intervalMs: intervalSeconds * 1000,
      polledAt: undefined,
      address: request.ip,
      userAgent: readUserAgent(request),
      createdAt,
      expiresAt: createdAt + context.lifetimes.deviceCode * 1000,
    })
    if (opened) return userCode
  }
  throw new OAuthError('temporarily_unavailable', 'no free user code was found; try again')
}
