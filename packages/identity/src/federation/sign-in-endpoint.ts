import type { FastifyReply, FastifyRequest } from 'fastify'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { FederationContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { connectionName, maySignIn } from '../model/connection.ts'
import { PageError } from '../pages/page-error.ts'
import { checkForm, readBrowser } from '../sessions/browser.ts'
import { beginFlow } from './flow.ts'
import { providerFailed, sendSignInPageAgain } from './sign-in-again.ts'

/** POST /login/providers: sends the browser to the provider that the user chose on the sign-in page. */
export function signInWithProviderEndpoint(
  context: FederationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    await enforceLimits(context.limit, [['provider-address', { address: request.ip }]])
    const continuation = parameters.getRequired('continuation')
    const connection = await context.store.connections.find(parameters.getRequired('connection'))
    if (connection === undefined || !maySignIn(connection)) throw providerFailed()
    const exchange = { request, reply, browser }
    try {
      return await beginFlow(context, exchange, connection, { continuation })
    } catch (error) {
      if (error instanceof PageError) throw error
      request.log.warn({ err: error, connection: connection.id }, 'the provider can’t be reached')
      const failure = { wrong: 'provider.unavailable', values: { provider: connectionName(connection) }, status: 503 }
      return sendSignInPageAgain(context, exchange, continuation, failure)
    }
  }
}
