import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { LogoutContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { OAuthError } from '../oauth/error.ts'
import { type IdTokenHint, readIdTokenHint } from '../oauth/id-token-hint.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { originOf } from '../oauth/redirect-uri.ts'
import { messagePage } from '../pages/error-page.ts'
import { logoutPage } from '../pages/logout-page.ts'
import { signInNext } from '../pages/page-error.ts'
import { type Browser, checkForm, clearSessionCookie, formToken, readBrowser } from '../sessions/browser.ts'
import { isCrossSiteForm, sendAgainWithCookies } from '../sessions/cross-site-form.ts'
import { endSession } from '../sessions/end-session.ts'
import { returnFromProvider, signOutAtProvider } from './provider-logout.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

interface LogoutRequest {
  readonly hint: IdTokenHint | undefined
  /** Where to go afterwards: registered, and of the client that the request is about. */
  readonly goTo: string | undefined
  /** Why it is refused where nobody is signed in: its hint proves nothing, and no client is named. */
  readonly fault?: OAuthError
}

/**
 * GET and POST /end_session (OpenID Connect RP-Initiated Logout §2): at once when the ID token of this very session is
 * given, else after the user has confirmed. The browser is sent on to registered addresses only.
 */
export function endSessionEndpoint(context: LogoutContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    if (isCrossSiteForm(context, request)) {
      const form = { path: '/end_session', parameters }
      const findTarget = async () => (await readLogoutRequest(context, parameters)).goTo
      return sendAgainWithCookies(context, { request, reply }, form, findTarget)
    }
    const logout = await readLogoutRequest(context, parameters)
    const browser = await readBrowser(context, request, reply)
    const signedIn = browser.signedIn ?? browser.suspended
    if (signedIn === undefined) {
      if (logout.fault !== undefined) throw logout.fault
      return sendAfterLogout(context, request, reply, logout)
    }
    if (logout.hint?.sessionId === signedIn.session.id)
      return endAndLeave(context, { request, reply, signedIn }, logout)
    const texts = textsFor(context, request, parameters.get('ui_locales'))
    const fields = Object.fromEntries(
      ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state']
        .map((name) => [name, parameters.get(name)] as const)
        .filter((pair): pair is [string, string] => pair[1] !== undefined),
    )
    const page = logoutPage(texts, {
      formToken: formToken(context, browser),
      user: signedIn.user.email ?? signedIn.user.username,
      fields,
      formTargets: logout.goTo === undefined ? [] : [originOf(logout.goTo)],
    })
    return sendPage(context, reply, texts, page)
  }
}

/** POST /end_session/confirm: the user's answer. */
export function confirmEndSessionEndpoint(context: LogoutContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    const logout = await readLogoutRequest(context, parameters)
    if (parameters.get('decision') !== 'leave') return reply.redirect('/account', 303)
    const signedIn = browser.signedIn ?? browser.suspended
    if (signedIn === undefined) return sendAfterLogout(context, request, reply, logout)
    return endAndLeave(context, { request, reply, signedIn }, logout)
  }
}

/** GET /end_session/return: the browser comes back from the provider, and goes where the client wants it. */
export function afterProviderLogoutEndpoint(context: LogoutContext): Handler {
  return async (request, reply) => {
    const goTo = returnFromProvider(context, request, reply)
    return sendAfterLogout(context, request, reply, { hint: undefined, goTo })
  }
}

/**
 * A hint whose key is not known any more counts as absent, and the user is asked.
 * @throws OAuthError for an address that is not registered, or a hint that is not ours or names another client
 */
async function readLogoutRequest(context: LogoutContext, parameters: Parameters): Promise<LogoutRequest> {
  const token = parameters.get('id_token_hint')
  const hint = token === undefined ? undefined : await readIdTokenHint(context, token)
  const clientId = parameters.get('client_id') ?? hint?.clientId
  if (hint !== undefined && clientId !== hint.clientId) {
    throw new OAuthError('invalid_request', 'client_id must be the client of id_token_hint')
  }
  const address = parameters.get('post_logout_redirect_uri')
  if (address === undefined) return { hint, goTo: undefined }
  if (clientId === undefined) {
    const fault = new OAuthError('invalid_request', 'post_logout_redirect_uri needs id_token_hint or client_id')
    if (token === undefined) throw fault
    return { hint, goTo: undefined, fault }
  }
  const client = await context.clients.find(clientId)
  if (client === undefined) throw new OAuthError('invalid_request', 'client_id is unknown')
  if (!client.postLogoutRedirectUris.includes(address)) {
    throw new OAuthError('invalid_request', 'post_logout_redirect_uri is not registered for this client')
  }
  const state = parameters.get('state')
  const query = state === undefined ? '' : `${address.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`
  return { hint, goTo: `${address}${query}` }
}

interface SignedInExchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly signedIn: NonNullable<Browser['signedIn']>
}

async function endAndLeave(
  context: LogoutContext,
  { request, reply, signedIn }: SignedInExchange,
  logout: LogoutRequest,
): Promise<FastifyReply> {
  const { session, user } = signedIn
  const through = await context.store.providerSessions.find(session.id)
  if (await endSession(context, session.id, user.id)) {
    await audit(context, request, 'logout', { actor: user.id, subject: user.id, details: { sid: session.id } })
  }
  clearSessionCookie(context, reply)
  const { goTo } = logout
  if (through !== undefined && (await signOutAtProvider(context, { request, reply, goTo }, through))) return reply
  return sendAfterLogout(context, request, reply, logout)
}

function sendAfterLogout(
  context: LogoutContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { goTo }: LogoutRequest,
): FastifyReply {
  if (goTo !== undefined) return reply.redirect(goTo, request.method === 'POST' ? 303 : 302)
  const texts = textsFor(context, request)
  return sendPage(context, reply, texts, messagePage(texts, 'logout.done', { next: signInNext }))
}
