import type { FastifyRequest } from 'fastify'
import type { ClientAuthenticationContext } from '../context/context.ts'
import { type Client, isPublic } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'

/**
 * Limits an endpoint by the authenticated client, since all requests of a service come from few addresses; a public
 * client, whose name can be forged, by address.
 * @throws OAuthError `temporarily_unavailable` (429, Retry-After)
 */
export async function enforceClientLimit(
  { limit }: Pick<ClientAuthenticationContext, 'limit'>,
  endpoint: 'introspect' | 'revoke' | 'par' | 'device',
  client: Client,
  { ip: address }: FastifyRequest,
): Promise<void> {
  const decision =
    isPublic(client) && endpoint !== 'introspect'
      ? await limit(`${endpoint}-address`, { address })
      : await limit(`${endpoint}-client`, { client: client.id })
  if (!decision.allowed) throw tooManyRequests('too many requests from this client', decision.retryAfter ?? 1)
}

/** The error for status 429, with the closest code of RFC 6749. */
export function tooManyRequests(description: string, seconds: number): OAuthError {
  const headers = { 'retry-after': String(seconds) }
  return new OAuthError('temporarily_unavailable', description, { status: 429, headers })
}
