import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { enforceLimits } from '../config/attempt-limits.ts'
import { findRequiredConnection } from '../connections/home.ts'
import type { FederationContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { connectionName, isEnabled } from '../model/connection.ts'
import { providersPage } from '../pages/account/providers-page.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, keepKnownDevice, readBrowser } from '../sessions/browser.ts'
import { sealContinuation } from '../sessions/continuation.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { type BrowserExchange, sendSignInPage } from '../sessions/sign-in-page.ts'
import { beginFlow } from './flow.ts'

const path = '/account/providers'

type SignedIn = NonNullable<Browser['signedIn']>

/** GET and POST /account/providers: lists, connects and disconnects the providers of the signed-in user. */
export function accountProvidersEndpoint(
  context: FederationContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const exchange = { request, reply, browser }
    if (browser.signedIn === undefined) return sendSignInPage(context, exchange, path)
    if (request.method === 'GET') return sendProviders(context, exchange, browser.signedIn)
    const parameters = pageParameters(request)
    checkForm(context, request, browser, parameters)
    const recent = requireRecentSignIn(context, exchange, path)
    if ('sent' in recent) return recent.sent
    const linkId = parameters.get('link_id')
    if (linkId !== undefined) return disconnect(context, exchange, recent.signedIn, linkId)
    return connect(context, exchange, recent.signedIn, parameters.getRequired('connection'))
  }
}

async function sendProviders(
  context: FederationContext,
  { request, reply, browser }: BrowserExchange,
  { user }: SignedIn,
  wrong?: { readonly text: string; readonly status: number },
): Promise<FastifyReply> {
  const texts = textsFor(context, request)
  const [links, connections] = await Promise.all([
    context.store.linkedAccounts.listByUser(user.id),
    context.store.connections.list(),
  ])
  const names = new Map(connections.map((one) => [one.id, connectionName(one)]))
  const page = providersPage(texts, {
    formToken: formToken(context, browser),
    links: links.map((link) => ({ ...link, name: names.get(link.connectionId) ?? link.connectionId })),
    offered: context.connections.listForLinking(),
    ...(wrong === undefined ? {} : { wrong: texts.say(wrong.text), status: wrong.status }),
  })
  return sendPage(context, reply, texts, page)
}

async function disconnect(
  context: FederationContext,
  exchange: BrowserExchange,
  signedIn: SignedIn,
  linkId: string,
): Promise<FastifyReply> {
  const { user, session } = signedIn
  const link = (await context.store.linkedAccounts.listByUser(user.id)).find((one) => one.id === linkId)
  if (link === undefined) return exchange.reply.redirect(path, 303)
  const connection = await context.store.connections.find(link.connectionId)
  const facts = { provider: connection === undefined ? link.connectionId : connectionName(connection) }
  const notices = createNotices(context, { user, kind: 'provider_unlinked', request: exchange.request, facts })
  const { passkeys } = context.features
  const required = await findRequiredConnection(context, user.email)
  const removal = { userId: user.id, linkId: link.id, keepSession: session.id, passkeys, required }
  const removed = await context.store.linkedAccounts.remove(removal, signOutOptions(context), notices)
  if (removed === 'last_way') return sendProviders(context, exchange, signedIn, { text: 'providers.last', status: 409 })
  if (removed === 'removed') {
    context.signalOutbox()
    const details = { connection: link.connectionId }
    await audit(context, exchange.request, 'provider_unlinked', { actor: user.id, subject: user.id, details })
    const changed = await context.store.users.find(user.id)
    if (changed !== undefined) keepKnownDevice(context, exchange.reply, changed)
  }
  return exchange.reply.redirect(path, 303)
}

async function connect(
  context: FederationContext,
  exchange: BrowserExchange,
  signedIn: SignedIn,
  connectionId: string,
): Promise<FastifyReply> {
  const { request, browser } = exchange
  await enforceLimits(context.limit, [['provider-address', { address: request.ip }]])
  const connection = await context.store.connections.find(connectionId)
  if (connection === undefined || !isEnabled(connection)) throw new PageError(404, 'error.missing')
  const continuation = sealContinuation(context, browser, { to: path, request: {}, startedAt: context.clock.now() })
  const linking = { userId: signedIn.user.id, sessionId: signedIn.session.id }
  try {
    return await beginFlow(context, exchange, connection, { continuation, linking })
  } catch (error) {
    request.log.warn({ err: error, connection: connection.id }, 'the provider can’t be reached')
    return sendProviders(context, exchange, signedIn, { text: 'providers.unavailable', status: 503 })
  }
}
