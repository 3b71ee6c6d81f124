import { tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { InvalidLogoutToken, verifyLogoutToken } from '../connections/logout/logout-token.ts'
import type { FederationContext } from '../context/features.ts'
import { formParameters } from '../http/oauth-route.ts'
import { type Connection, isEnabled } from '../model/connection.ts'
import { OAuthError } from '../oauth/error.ts'
import { signOutOptions } from '../sessions/end-session.ts'

/**
 * POST /login/providers/{connection}/logout (OpenID Connect Back-Channel Logout §2.5): ends the sessions that were signed
 * in to through the session, or the user, that ended at the provider. Each token counts once. Grants stay, as for every
 * session that ends: refresh tokens are for access while the user is away.
 */
export function backChannelLogoutEndpoint(
  context: FederationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const { connection: id } = request.params as { readonly connection: string }
    const limited = await context.limit('provider-logout', { address: request.ip })
    if (!limited.allowed) {
      const headers = { 'retry-after': String(limited.retryAfter ?? 60) }
      throw new OAuthError('temporarily_unavailable', 'too many requests', { status: 429, headers })
    }
    const token = formParameters(request).getRequired('logout_token')
    const connection = await context.store.connections.find(id)
    if (connection === undefined || !isEnabled(connection) || connection.settings.kind !== 'oidc') throw invalid()
    const logout = await verify(context, request, connection, token)
    const ended = await context.store.providerSessions.end(logout, signOutOptions(context))
    if (ended === 'replayed') throw invalid()
    context.signalOutbox()
    for (const { id: sid, userId: subject } of ended)
      await audit(context, request, 'session_ended', { subject, details: { sid, connection: id } })
    return reply.code(200).header('cache-control', 'no-store').send()
  }
}

async function verify(context: FederationContext, request: FastifyRequest, connection: Connection, token: string) {
  try {
    // Apart from sign-ins: a flood of tokens takes none of their places.
    const { tokenId, ...logout } = await context.providers.within({ id: `${connection.id} logout` }, () =>
      verifyLogoutToken(context.providers, connection, token, context.clock),
    )
    return { ...logout, connectionId: connection.id, tokenHash: tokenHash(tokenId) }
  } catch (error) {
    request.log.warn({ err: error, connection: connection.id }, 'a logout token was not accepted')
    if (error instanceof InvalidLogoutToken) throw invalid()
    throw new OAuthError('temporarily_unavailable', "the keys of the provider can't be read")
  }
}

/** The same for every cause. */
const invalid = () => new OAuthError('invalid_request', 'the logout token is not valid')
