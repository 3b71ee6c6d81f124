import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { authenticateClient } from '../clients/authentication.ts'
import { enforceClientLimit } from '../clients/limits.ts'
import type { IntrospectionContext } from '../context/features.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters } from '../http/oauth-route.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import { findAccessToken } from '../oauth/access-token.ts'
import { isGenuine, readRefreshToken } from '../oauth/refresh-token.ts'

/**
 * POST /revoke (RFC 7009): revokes the grant of a refresh or access token, with everything that was issued under it.
 * Unknown tokens and those of other clients change nothing; the response is the same.
 */
export function revokeEndpoint(
  context: IntrospectionContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const parameters = formParameters(request)
    const client = await authenticateClient(context, request, parameters)
    allowOrigin(request, reply, client)
    await enforceClientLimit(context, 'revoke', client, request)
    const grantId = await findGrantId(context, parameters.getRequired('token'), client.id)
    if (grantId !== undefined) {
      const userGrant = await context.store.grants.find(grantId)
      const times = revocationTimes(context)
      if (userGrant === undefined) await context.store.revocations.add({ grant: grantId }, times)
      else await context.store.grants.revoke(grantId, times)
      const details = { grant_id: grantId }
      await audit(context, request, 'grant_revoked', { subject: userGrant?.user.id, clientId: client.id, details })
    }
    reply.code(200).header('cache-control', 'no-store').send()
  }
}

async function findGrantId(
  context: IntrospectionContext,
  token: string,
  clientId: string,
): Promise<string | undefined> {
  const refreshToken = readRefreshToken(context.refreshMac, token)
  if (refreshToken !== undefined) {
    const userGrant = await context.store.grants.find(refreshToken.grantId)
    if (userGrant?.grant.clientId !== clientId) return undefined
    if (refreshToken.isSigned) return refreshToken.grantId
    const family = (await context.store.refreshFamilies.find(refreshToken.grantId))?.family
    return family !== undefined && isGenuine(refreshToken, family) ? refreshToken.grantId : undefined
  }
  const facts = await findAccessToken(context, token)
  return facts?.clientId === clientId ? facts.grantId : undefined
}
