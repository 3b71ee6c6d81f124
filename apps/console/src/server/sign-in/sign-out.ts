import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { formatCookie } from '../cookies.ts'
import { openTokens, sessionHash } from '../session/reader.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/**
 * POST /console/api/sign-out: ends the session and its grant, and names where to sign out of the provider as well. That
 * address carries no token: the provider asks whether to sign out there too.
 */
export function signOutEndpoint(context: ConsoleContext): Handler {
  return async (request, reply) => {
    const { store, secure, provider, encryptionKey, openAnswers } = context
    const idHash = sessionHash(request.headers.cookie, secure)
    const session = idHash === undefined ? undefined : await store.sessions.end(idHash)
    if (session !== undefined) {
      openAnswers.end(session.idHash)
      // The session has ended in any case; a grant that outlives it has no holder.
      const revoke = async () => provider.revoke(openTokens(session, encryptionKey).refreshToken)
      await revoke().catch((error) => request.log.warn({ err: error }, 'the grant of a session could not be revoked'))
    }
    const cookie = formatCookie('gatehouse-console', '', { secure, sameSite: 'Strict', maxAgeSeconds: 0 })
    return reply.header('set-cookie', cookie).send({ location: provider.endSessionUrl })
  }
}

/** POST /console/backchannel-logout (OpenID Connect Back-Channel Logout §2.5): ends the sessions that the token names. */
export function backchannelLogoutEndpoint(context: ConsoleContext): Handler {
  return async (request, reply) => {
    const token = new URLSearchParams(String(request.body ?? '')).get('logout_token') ?? ''
    const logout = await context.provider.readLogoutToken(token)
    if (logout === undefined) throw new Problem(400, 'logout_token is not a logout token for the console.')
    for (const idHash of await context.store.sessions.endByProvider(logout)) context.openAnswers.end(idHash)
    return reply.code(200).send()
  }
}
