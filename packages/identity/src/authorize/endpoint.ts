import { tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Browser, formToken, readBrowser } from '../browser.ts'
import type { Client } from '../client.ts'
import { openContinuation, sealContinuation } from '../continuation.ts'
import { readIdTokenHint } from '../id-token-hint.ts'
import { OAuthError } from '../oauth-error.ts'
import { pageParameters } from '../page-route.ts'
import { sendPage, textsFor } from '../pages/answer.ts'
import { consentPage } from '../pages/consent-page.ts'
import { loginPage } from '../pages/login-page.ts'
import { Parameters } from '../parameters.ts'
import type { Parts } from '../parts.ts'
import { isNativeRedirect, originOf } from '../redirect-uri.ts'
import { issueCode } from './code.ts'
import { decide } from './decide.ts'
import { type AuthorizationRequest, destinationOf, readRequest } from './request.ts'
import { respond, respondError } from './respond.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export const pushedPrefix = 'urn:ietf:params:oauth:request_uri:'

/** GET and POST /authorize (RFC 6749 §3.1). */
export function authorizeEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const given = pageParameters(request)
    if (request.method === 'POST' && request.headers.cookie === undefined) return again(reply, given)
    const client = await clientOf(parts, given)
    const parameters = await unpushed(parts, client, given)
    const browser = await readBrowser(parts, request, reply)
    return proceed(parts, { request, reply, browser, client, parameters, waitingSince: undefined })
  }
}

/** GET /authorize/continue: on with a request after the login it waited for. */
export function continueEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(parts, request, reply)
    const continuation = openContinuation(parts, browser, pageParameters(request).get('continuation'))
    const parameters = new Parameters(continuation.request)
    const client = await clientOf(parts, parameters)
    return proceed(parts, { request, reply, browser, client, parameters, waitingSince: continuation.startedAt })
  }
}

/** Another site's form comes without our cookies; the same request as a navigation brings them along. */
function again(reply: FastifyReply, { form }: Parameters): FastifyReply {
  const pairs = Object.entries(form).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
  return reply.redirect(`/authorize?${new URLSearchParams(pairs)}`, 303)
}

export async function clientOf(parts: Parts, parameters: Parameters): Promise<Client> {
  const client = await parts.clients.find(parameters.required('client_id'))
  if (client === undefined) throw new OAuthError('invalid_request', 'client_id is not known here')
  return client
}

/** A pushed request takes the place of the address's parameters (RFC 9126 §4). */
async function unpushed(parts: Parts, client: Client, parameters: Parameters): Promise<Parameters> {
  const requestUri = parameters.get('request_uri')
  if (requestUri?.startsWith(pushedPrefix)) {
    const hash = tokenHash(requestUri.slice(pushedPrefix.length))
    const form = await parts.store.pushedRequests.take(hash, client.id, parts.clock.now())
    if (form === undefined) throw new OAuthError('invalid_request', 'the pushed request is unknown, used or over')
    return new Parameters({ ...form, client_id: client.id })
  }
  return parameters
}

interface Proceeding {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly browser: Browser
  readonly client: Client
  readonly parameters: Parameters
  readonly waitingSince: number | undefined
}

async function proceed(parts: Parts, at: Proceeding): Promise<FastifyReply> {
  const destination = destinationOf(at.client, at.parameters)
  try {
    refuseUnpushed(at)
    const asked = readRequest(destination, at.parameters, parts.apiIdentifier)
    const hint = asked.idTokenHint === undefined ? undefined : await readIdTokenHint(parts, asked.idTokenHint)
    if (asked.idTokenHint !== undefined && hint === undefined) {
      throw new OAuthError('invalid_request', 'id_token_hint is not an ID token of this server')
    }
    const user = at.browser.signedIn?.user
    const next = decide({
      request: asked,
      signedIn: at.browser.signedIn,
      consent: user && (await parts.store.consents.find(user.id, at.client.id)),
      hintedSubject: hint?.subject,
      waitingSince: at.waitingSince,
      now: parts.clock.now(),
    })
    if (next === 'login' || at.browser.signedIn === undefined) return showLogin(parts, at, asked)
    if (next === 'consent') return showConsent(parts, at, asked)
    const code = await issueCode(parts, at.request, asked, at.browser.signedIn)
    return respond(parts, at.request, at.reply, destination, { code })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return respondError(parts, at.request, at.reply, destination, error)
  }
}

function refuseUnpushed({ client, request, parameters }: Proceeding): void {
  if (parameters.get('request_uri') !== undefined) {
    throw new OAuthError('request_uri_not_supported', 'only request_uri values of pushed requests are supported')
  }
  const given = (request.query ?? {}) as Record<string, unknown>
  const pushed = given.request_uri !== undefined || given.continuation !== undefined
  if (client.requirePushedRequests && !pushed) {
    throw new OAuthError('invalid_request', 'this client must push its requests (RFC 9126)')
  }
}

function showLogin(parts: Parts, at: Proceeding, asked: AuthorizationRequest): FastifyReply {
  const texts = textsFor(parts, at.request, asked.uiLocales)
  const page = loginPage(texts, {
    formToken: formToken(parts, at.browser),
    continuation: sealed(parts, at, asked),
    client: at.client.name,
    name: asked.loginHint ?? at.browser.signedIn?.user.username,
    mayReset: parts.features.passwordReset,
    mayRegister: parts.features.registration,
    formTargets: [originOf(asked.redirectUri)],
  })
  return sendPage(parts, at.reply, texts, page)
}

function showConsent(parts: Parts, at: Proceeding, asked: AuthorizationRequest): FastifyReply {
  const texts = textsFor(parts, at.request, asked.uiLocales)
  const { client, redirectUri } = asked
  const user = at.browser.signedIn?.user
  const page = consentPage(texts, {
    formToken: formToken(parts, at.browser),
    continuation: sealed(parts, at, asked),
    client: client.name,
    user: user?.email ?? user?.username ?? '',
    scopes: asked.scopes,
    host: isNativeRedirect(redirectUri) ? undefined : URL.parse(redirectUri)?.host,
    policyUri: client.policyUri,
    tosUri: client.tosUri,
    formTargets: [originOf(redirectUri)],
  })
  return sendPage(parts, at.reply, texts, page)
}

function sealed(parts: Parts, at: Proceeding, { client, redirectUri }: AuthorizationRequest): string {
  return sealContinuation(parts, at.browser, {
    to: '/authorize/continue',
    request: at.parameters.form,
    startedAt: at.waitingSince ?? parts.clock.now(),
    client: client.name,
    target: originOf(redirectUri),
  })
}
