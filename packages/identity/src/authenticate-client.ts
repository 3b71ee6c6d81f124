import type { FastifyRequest } from 'fastify'
import { type Client, hasSecret } from './client.ts'
import { clientIdOf } from './client-assertion.ts'
import { type Credentials, invalidClient, readCredentials } from './client-auth.ts'
import type { Parameters } from './parameters.ts'
import type { Parts } from './parts.ts'

type AuthParts = Pick<Parts, 'clients' | 'assertions' | 'issuer' | 'store'>

/**
 * The client that a request comes from, once it has proven so in the way it is registered for (RFC 6749 §2.3).
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
  if (
    client === undefined ||
    !client.authMethods.includes(credentials.method) ||
    !(await proves(parts, credentials, client))
  ) {
    throw invalidClient('the client is unknown, or did not prove who it is as registered', credentials.method)
  }
  return client
}

async function proves(parts: AuthParts, credentials: Credentials, client: Client): Promise<boolean> {
  if (credentials.method === 'none') return true
  if (credentials.method === 'private_key_jwt') return parts.assertions.proves(parts, client, credentials.assertion)
  return hasSecret(client, credentials.secret)
}
