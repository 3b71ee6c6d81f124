import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { authenticateClient } from '../clients/authentication.ts'
import { limitClient } from '../clients/limits.ts'
import type { Parts } from '../context/context.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters } from '../http/oauth-route.ts'
import { revocationTimes } from '../model/revocation-times.ts'
import { findAccessToken } from '../oauth/access-token.ts'
import { isGenuine, readRefreshToken } from '../oauth/refresh-token.ts'

/**
 * POST /revoke (RFC 7009): ends the grant of a refresh or access token, and all that was issued under it. Tokens that
 * are unknown, or another client's, change nothing; the answer is the same.
 */
export function revokeEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const parameters = formParameters(request)
    const client = await authenticateClient(parts, request, parameters)
    allowOrigin(request, reply, client)
    await limitClient(parts, 'revoke', client, request)
    const grantId = await grantOf(parts, parameters.required('token'), client.id)
    if (grantId !== undefined) {
      const held = await parts.store.grants.find(grantId)
      const times = revocationTimes(parts)
      if (held === undefined) await parts.store.revocations.add({ grant: grantId }, times)
      else await parts.store.grants.revoke(grantId, times)
      const details = { grant_id: grantId }
      await audit(parts, request, 'grant_revoked', { subject: held?.user.id, clientId: client.id, details })
    }
    reply.code(200).header('cache-control', 'no-store').send()
  }
}

async function grantOf(parts: Parts, token: string, clientId: string): Promise<string | undefined> {
  const refreshToken = readRefreshToken(parts.refreshMac, token)
  if (refreshToken !== undefined) {
    const held = await parts.store.grants.find(refreshToken.grantId)
    if (held?.grant.clientId !== clientId) return undefined
    if (refreshToken.signed) return refreshToken.grantId
    const family = (await parts.store.refreshFamilies.find(refreshToken.grantId))?.family
    return family !== undefined && isGenuine(refreshToken, family) ? refreshToken.grantId : undefined
  }
  const facts = await findAccessToken(parts, token)
  return facts?.clientId === clientId ? facts.grantId : undefined
}
