import { tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { againByGet } from '../http/redirect-by-get.ts'
import type { Client } from '../model/client.ts'
import { destinationOf, pushedPrefix } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { Parameters } from '../oauth/parameters.ts'
import { readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { issueCode } from './code.ts'
import { askConsent, askLogin } from './pages.ts'
import { respond, respondError } from './response.ts'
import { clientOf, nextOf, type Proceeding, resumed } from './transaction.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** GET and POST /authorize (RFC 6749 §3.1). */
export function authorizeEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const given = pageParameters(request)
    if (request.method === 'POST' && request.headers.cookie === undefined) return againByGet(reply, '/authorize', given)
    const client = await clientOf(parts, given)
    const taken = await unpushed(parts, client, given)
    const browser = await readBrowser(parts, request, reply)
    return proceed(parts, { request, reply, browser, client, ...taken, waitingSince: undefined })
  }
}

/** GET /authorize/continue: on with a request after the login it waited for. */
export function continueEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(parts, request, reply)
    const continuation = openContinuation(parts, browser, pageParameters(request).get('continuation'))
    return proceed(parts, await resumed(parts, { request, reply, browser }, continuation))
  }
}

/** A pushed request takes the place of the address's parameters (RFC 9126 §4). */
async function unpushed(
  parts: Parts,
  client: Client,
  parameters: Parameters,
): Promise<Pick<Proceeding, 'parameters' | 'pushed'>> {
  const requestUri = parameters.get('request_uri')
  if (!requestUri?.startsWith(pushedPrefix)) return { parameters, pushed: false }
  const hash = tokenHash(requestUri.slice(pushedPrefix.length))
  const form = await parts.store.pushedRequests.take(hash, client.id, parts.clock.now())
  if (form === undefined) throw new OAuthError('invalid_request', 'the pushed request is unknown, used or over')
  return { parameters: new Parameters({ ...form, client_id: client.id }), pushed: true }
}

async function proceed(parts: Parts, at: Proceeding): Promise<FastifyReply> {
  const destination = destinationOf(at.client, at.parameters)
  const { signedIn } = at.browser
  try {
    const { asked, next } = await nextOf(parts, at, destination)
    if (next === 'login' || signedIn === undefined) {
      const since = at.waitingSince ?? parts.clock.now()
      return askLogin(parts, at, asked, since, asked.loginHint ?? signedIn?.user.username)
    }
    if (next === 'consent') return askConsent(parts, at, asked, signedIn)
    const code = await issueCode(parts, at.request, asked, signedIn)
    return respond(parts, at.request, at.reply, destination, { code })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return respondError(parts, at.request, at.reply, destination, error)
  }
}
