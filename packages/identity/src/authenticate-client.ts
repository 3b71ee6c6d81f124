import type { FastifyRequest } from 'fastify'
import { type Client, hasSecret } from './client.ts'
import { type Credentials, invalidClient, readCredentials } from './client-auth.ts'
import type { Parameters } from './parameters.ts'
import type { Parts } from './parts.ts'

/**
 * The client that a request comes from, once it has proven so in the way it is registered for (RFC 6749 §2.3).
 * @throws OAuthError `invalid_client`, `invalid_request`
 */
export async function authenticateClient(
  parts: Pick<Parts, 'clients'>,
  request: FastifyRequest,
  parameters: Parameters,
): Promise<Client> {
  const credentials = readCredentials(request.headers.authorization, parameters)
  const client = credentials.clientId === undefined ? undefined : await parts.clients.find(credentials.clientId)
  if (client === undefined || !client.authMethods.includes(credentials.method) || !proves(credentials, client)) {
    throw invalidClient('the client is unknown, or did not prove who it is as registered', credentials.method)
  }
  return client
}

function proves(credentials: Credentials, client: Client): boolean {
  if (credentials.method === 'none') return true
  return credentials.method !== 'private_key_jwt' && hasSecret(client, credentials.secret)
}
