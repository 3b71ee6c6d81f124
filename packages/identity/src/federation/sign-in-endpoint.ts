import type { FastifyReply, FastifyRequest } from 'fastify'
import { enforceLimits } from '../config/attempt-limits.ts'
import { findHomeConnection } from '../connections/home.ts'
import type { FederationContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { type Connection, connectionName, maySignIn } from '../model/connection.ts'
import { normalizeName } from '../model/user.ts'
import { PageError } from '../pages/page-error.ts'
import { readBrowser } from '../sessions/browser.ts'
import { answersOlderForm } from '../sessions/sign-in-form.ts'
import { type BrowserExchange, sendSignInPageAgain } from '../sessions/sign-in-page.ts'
import { beginFlow } from './flow.ts'
import { providerFailed } from './provider-failed.ts'

const maxAddressLength = 254

/** POST /login/providers: sends the browser to the provider that the user chose on the sign-in page. */
export function signInWithProviderEndpoint(
  context: FederationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    if (await answersOlderForm(context, { request, reply, browser }, parameters)) return reply
    await enforceLimits(context.limit, [['provider-address', { address: request.ip }]])
    const continuation = parameters.getRequired('continuation')
    const connection = await context.store.connections.find(parameters.getRequired('connection'))
    if (connection === undefined || !maySignIn(connection)) throw providerFailed()
    await sendToProvider(context, { request, reply, browser }, connection, { continuation })
    return reply
  }
}

/**
 * POST /login/organization: sends the browser to the provider of the entered address's domain. The response depends on
 * the domain alone: it says nothing about accounts.
 */
export function signInWithOrganizationEndpoint(
  context: FederationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const exchange = { request, reply, browser: await readBrowser(context, request, reply) }
    const name = (parameters.get('username') ?? '').slice(0, maxAddressLength)
    if (await answersOlderForm(context, exchange, parameters, { name })) return reply
    const continuation = parameters.getRequired('continuation')
    if (await sendToOrganization(context, exchange, { name, continuation })) return reply
    const failure = { wrong: 'login.organization.none', values: {}, status: 404, name }
    return sendSignInPageAgain(context, exchange, continuation, failure)
  }
}

/** What a user entered on the sign-in page, and what the browser resumes. */
export interface EnteredName {
  readonly name: string
  readonly continuation: string
  /** Whether the user has another way too, so that only a connection that is required counts. */
  readonly hasPassword?: boolean
}

/**
 * Sends the browser to the provider of the entered address's domain. False, without a response, when the domain has none.
 * (It returns no reply: whoever awaits one gets undefined, because a reply is a promise of its own end.)
 */
export async function sendToOrganization(
  context: FederationContext,
  exchange: BrowserExchange,
  { name, continuation, hasPassword = false }: EnteredName,
): Promise<boolean> {
  const address = normalizeName(name)
  if (address.length > maxAddressLength) return false
  const count = () => enforceLimits(context.limit, [['provider-address', { address: exchange.request.ip }]])
  // Attempts with a password have limits of their own.
  if (!hasPassword) await count()
  const home = await findHomeConnection(context, address)
  if (home === undefined || (hasPassword && home.settings.required !== true)) return false
  if (hasPassword) await count()
  const connection = await context.store.connections.find(home.id)
  if (connection === undefined || !maySignIn(connection)) return false
  await sendToProvider(context, exchange, connection, { continuation, loginHint: address })
  return true
}

async function sendToProvider(
  context: FederationContext,
  exchange: BrowserExchange,
  connection: Connection,
  { continuation, loginHint }: { readonly continuation: string; readonly loginHint?: string },
): Promise<void> {
  try {
    await beginFlow(context, exchange, connection, { continuation, ...(loginHint === undefined ? {} : { loginHint }) })
  } catch (error) {
    if (error instanceof PageError) throw error
    exchange.request.log.warn({ err: error, connection: connection.id }, 'the provider can’t be reached')
    const values = { provider: connectionName(connection) }
    const failure = { wrong: 'provider.unavailable', values, status: 503 }
    const named = loginHint === undefined ? failure : { ...failure, name: loginHint }
    sendSignInPageAgain(context, exchange, continuation, named)
  }
}
