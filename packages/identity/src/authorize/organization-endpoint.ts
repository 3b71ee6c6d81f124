import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthorizeContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { Parameters } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import { checkForm, readBrowser } from '../sessions/browser.ts'
import { type Continuation, openContinuation, sealContinuation } from '../sessions/continuation.ts'
import { resume } from '../sessions/resume.ts'

/**
 * POST /organization: the user's choice of an organization. The request continues as if the client had named it, so it
 * is checked there.
 */
export function organizationEndpoint(
  context: AuthorizeContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    const opened = openContinuation(context, browser, parameters.get('continuation'))
    const isCurrent = opened.to === '/authorize/continue' && opened.consentIn === browser.signedIn?.session.id
    const organization = parameters.get('organization')
    const isOpen = new Parameters(opened.request).get('organization') === undefined
    if (!isCurrent || !isOpen || organization === undefined) throw new PageError(400, 'error.stale')
    const { to, pushed, startedAt, client, target } = opened
    const chosen: Continuation = {
      to,
      pushed,
      startedAt,
      client,
      target,
      request: { ...opened.request, organization },
    }
    return resume({ context, request, reply }, chosen, sealContinuation(context, browser, chosen))
  }
}
