import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DevicePageContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { PageError } from '../pages/page-error.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { claimRequest } from './claim.ts'
import { sendConfirmation } from './confirmation.ts'
import { findMissingFactor, readSignedIn } from './decision.ts'

/**
 * POST /device/organization: the user's choice of an organization for a code that was entered in this session. The
 * choice is checked as if the client had named it, and grants nothing: the user decides on the page that follows.
 */
export function deviceOrganizationEndpoint(
  context: DevicePageContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const { browser, signedIn } = await readSignedIn(context, request, reply)
    const opened = openContinuation(context, browser, parameters.get('continuation'))
    const chosen = parameters.get('organization')
    const isCurrent = opened.to === '/device' && opened.consentIn === signedIn.session.id && opened.shown === undefined
    if (!isCurrent || chosen === undefined) throw new PageError(400, 'error.stale')
    const code = String(opened.request.user_code)
    const deviceRequest = await claimRequest(context, code, signedIn)
    const client = deviceRequest && (await context.clients.find(deviceRequest.clientId))
    if (deviceRequest === undefined || client === undefined) throw new PageError(400, 'device.unknown')
    if ((await findMissingFactor(context, client, signedIn)) !== undefined) throw new PageError(400, 'error.stale')
    const exchange = { request, reply, browser }
    return sendConfirmation(context, exchange, signedIn, { code, deviceRequest, client, chosen })
  }
}
