import { seal, tokenHash, unseal } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { enforceLimits } from '../config/attempt-limits.ts'
import { exchangeCode, type ProviderUser } from '../connections/exchange.ts'
import { ProviderUnavailable } from '../connections/provider-clients.ts'
import { connectionResponsePurpose } from '../connections/secrets.ts'
import type { FederationContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { type Connection, callbackPath, connectionName, isEnabled } from '../model/connection.ts'
import type { Form, Parameters } from '../oauth/parameters.ts'
import { readBrowser } from '../sessions/browser.ts'
import { type BrowserExchange, sendSignInPageAgain } from '../sessions/sign-in-page.ts'
import { openFlow, type SealedFlow } from './flow.ts'
import { linkToAccount } from './link.ts'
import { providerFailed } from './provider-failed.ts'
import { signInAt } from './sign-in.ts'

/** A flow that came back to the browser in which it began. */
interface ReturnedFlow {
  readonly flow: SealedFlow
  readonly continuation: string
  readonly parameters: URLSearchParams
}

/**
 * GET and POST /login/providers/{connection}/callback: takes the provider's response. A response that was posted comes
 * from another site and so without our cookies (SameSite=Lax): it is stored, and the browser reads it by GET.
 */
export function providerCallbackEndpoint(
  context: FederationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const { connection: id } = request.params as { readonly connection: string }
    await enforceLimits(context.limit, [['provider-address', { address: request.ip }]])
    const parameters = pageParameters(request)
    if (request.method === 'POST') return storeResponse(context, reply, id, parameters)
    const exchange = { request, reply, browser: await readBrowser(context, request, reply) }
    const returned = await consumeFlow(context, exchange, id, parameters)
    const connection = await context.store.connections.find(id)
    if (returned === undefined || connection === undefined || !isEnabled(connection)) {
      return refuse(context, exchange, id, returned === undefined ? 'state' : 'disabled')
    }
    const since = context.clock.now()
    const profile = await readProvider(context, exchange, connection, returned)
    if (profile === undefined) return reply
    const { linking } = returned.flow
    const answered =
      linking === undefined
        ? await signInAt(context, exchange, { connection, profile, since, continuation: returned.continuation })
        : await linkToAccount(context, exchange, { connection, profile, linking })
    return answered ? reply : refuse(context, exchange, id, 'account')
  }
}

async function storeResponse(
  context: FederationContext,
  reply: FastifyReply,
  id: string,
  parameters: Parameters,
): Promise<FastifyReply> {
  const state = parameters.get('state') ?? ''
  const hash = tokenHash(state)
  const text = JSON.stringify(parameters.form)
  const sealed = seal(text, context.encryptionKey, connectionResponsePurpose(hash))
  if (!(await context.store.connectionFlows.putResponse(hash, id, sealed, context.clock.now()))) throw providerFailed()
  return reply.redirect(`${callbackPath(id)}?handle=${encodeURIComponent(state)}`, 303)
}

/** The flow of this browser at this connection, at most once; with a handle its response was stored before. */
async function consumeFlow(
  context: FederationContext,
  { browser }: BrowserExchange,
  connectionId: string,
  parameters: Parameters,
): Promise<ReturnedFlow | undefined> {
  const handle = parameters.get('handle')
  const hash = tokenHash(handle ?? parameters.get('state') ?? '')
  const key = { hash, connectionId, browserHash: tokenHash(browser.id) }
  const consumed = await context.store.connectionFlows.consume(key, context.clock.now())
  if (consumed === undefined || (handle === undefined) !== (consumed.responseSealed === undefined)) return undefined
  const { sealed, continuation, responseSealed } = consumed
  const form: Form =
    responseSealed === undefined
      ? parameters.form
      : JSON.parse(unseal(responseSealed, context.encryptionKey, connectionResponsePurpose(hash)))
  const sent = Object.entries(form).map(([name, value]): [string, string] => [name, String(value)])
  return { flow: openFlow(context, hash, sealed), continuation, parameters: new URLSearchParams(sent) }
}

/** The user's profile at the provider. Undefined when a page was sent because there is none. */
async function readProvider(
  context: FederationContext,
  exchange: BrowserExchange,
  connection: Connection,
  { flow, continuation, parameters }: ReturnedFlow,
): Promise<ProviderUser | undefined> {
  const response = { parameters, secrets: flow }
  try {
    return await context.providers.within(connection, () =>
      exchangeCode(context.providers, connection, context.issuer, response),
    )
  } catch (error) {
    exchange.request.log.warn({ err: error, connection: connection.id }, 'a provider’s response was not accepted')
    const reason = error instanceof ProviderUnavailable ? 'unavailable' : isDenied(error) ? 'denied' : undefined
    if (flow.linking !== undefined || reason === undefined) return refuse(context, exchange, connection.id, 'response')
    const status = reason === 'unavailable' ? 503 : 400
    const failure = { wrong: `provider.${reason}`, values: { provider: connectionName(connection) }, status }
    sendSignInPageAgain(context, exchange, continuation, failure)
    return undefined
  }
}

/** Whether the user, or the provider, declined; the state was verified before. */
function isDenied(error: unknown): boolean {
  return error instanceof Error && 'error' in error && error.error === 'access_denied'
}

/** Records the failure and sends the same page for every cause. @throws PageError always */
async function refuse(
  context: FederationContext,
  { request }: BrowserExchange,
  connection: string,
  reason: string,
): Promise<never> {
  context.metrics.signIn('wrong')
  await audit(context, request, 'login_failed', { details: { connection: connection.slice(0, 64), reason } })
  throw providerFailed()
}
