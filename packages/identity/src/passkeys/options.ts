import type { FastifyReply, FastifyRequest } from 'fastify'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { PasskeyContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { checkForm, readBrowser } from '../sessions/browser.ts'
import { browserOfForm } from '../sessions/sign-in-form.ts'
import { createAssertionOptions } from '../webauthn/assertion.ts'

/**
 * POST /login/passkey/options: the options for signing in, as JSON for the script of the login page. The challenge is
 * made only here, so a login page that nobody uses stores nothing. A page that is older than the sign-in in another tab
 * gets one too, because its form is answered.
 */
export function signInOptionsEndpoint(
  context: PasskeyContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    checkForm(context, request, browserOfForm(context, browser, parameters), parameters)
    await enforceLimits(context.limit, [['passkey-challenge', { address: request.ip }]])
    const options = await createAssertionOptions(context, { browser }, { purpose: 'sign-in' })
    return reply.header('cache-control', 'no-store').send(options)
  }
}
