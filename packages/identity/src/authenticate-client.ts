import type { FastifyRequest } from 'fastify'
import type { AuthenticationFault } from './authentication-fault.ts'
import { type Client, hasSecret } from './client.ts'
import { clientIdOf } from './client-assertion.ts'
import { type Credentials, invalidClient, readCredentials } from './client-auth.ts'
import type { Parameters } from './parameters.ts'
import type { Parts } from './parts.ts'
import { reportRefusal } from './refused-clients.ts'

type AuthParts = Pick<Parts, 'clients' | 'assertions' | 'refusals' | 'issuer' | 'store' | 'clock' | 'metrics' | 'log'>

/**
 * The client that a request comes from, once it has proven so in the way it is registered for (RFC 6749 §2.3). Which
 * check it failed is the operator's to know: an answer that told would help to guess.
 * @throws OAuthError `invalid_client`, `invalid_request`
 */
export async function authenticateClient(
  parts: AuthParts,
  request: FastifyRequest,
  parameters: Parameters,
): Promise<Client> {
  const credentials = readCredentials(request.headers.authorization, parameters)
  const id =
    credentials.clientId ?? (credentials.method === 'private_key_jwt' ? clientIdOf(credentials.assertion) : undefined)
  const client = id === undefined ? undefined : await parts.clients.find(id)
  const refuse = async (fault: AuthenticationFault): Promise<never> => {
    await reportRefusal(parts, request, { clientId: client?.id, method: credentials.method, fault })
    throw invalidClient('the client is unknown, or did not prove who it is as registered', credentials.method)
  }
  if (client === undefined) {
    return refuse({ check: 'client', detail: `no client "${id?.slice(0, 128) ?? ''}" is registered` })
  }
  const fault = await faultOf(parts, request, credentials, client)
  return fault === undefined ? client : refuse(fault)
}

/** Why the credentials do not prove the client; undefined when they do. */
async function faultOf(
  parts: AuthParts,
  request: FastifyRequest,
  credentials: Credentials,
  client: Client,
): Promise<AuthenticationFault | undefined> {
  const { method } = credentials
  if (!client.authMethods.includes(method)) {
    return { check: 'method', detail: `${method} was used, registered is ${client.authMethods.join(' or ')}` }
  }
  if (method === 'none') return undefined
  if (method === 'private_key_jwt') {
    const { issuer, store } = parts
    const place = { issuer, endpoint: `${issuer}${request.routeOptions.url ?? ''}`, store }
    return parts.assertions.faultOf(place, client, credentials.assertion)
  }
  return hasSecret(client, credentials.secret)
    ? undefined
    : { check: 'secret', detail: 'the secret is not that of the client' }
}
