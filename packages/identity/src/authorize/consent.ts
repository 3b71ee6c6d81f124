import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../browser.ts'
import { type Continuation, openContinuation, sealContinuation } from '../continuation.ts'
import { OAuthError } from '../oauth-error.ts'
import { pageParameters } from '../page-route.ts'
import { sendPage, textsFor } from '../pages/answer.ts'
import { loginPage } from '../pages/login-page.ts'
import { PageError } from '../pages/page-error.ts'
import { Parameters } from '../parameters.ts'
import type { Parts } from '../parts.ts'
import { originOf } from '../redirect-uri.ts'
import { issueCode } from './code.ts'
import { clientOf } from './endpoint.ts'
import { type AuthorizationRequest, destinationOf, readRequest } from './request.ts'
import { respond, respondError } from './respond.ts'

/** POST /consent: what the user decided about exactly the request that the page showed. */
export function consentEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const decided = pageParameters(request)
    const browser = await readBrowser(parts, request, reply)
    checkForm(parts, request, browser, decided)
    const continuation = openContinuation(parts, browser, decided.get('continuation'))
    const { signedIn } = browser
    if (signedIn === undefined) throw new PageError(400, 'error.stale')
    const parameters = new Parameters(continuation.request)
    const client = await clientOf(parts, parameters)
    const destination = destinationOf(client, parameters)
    const asked = readRequest(destination, parameters, parts.apiIdentifier)
    const { scopes, resources } = asked
    const facts = {
      actor: signedIn.user.id,
      subject: signedIn.user.id,
      clientId: client.id,
      details: { scopes, resources },
    }
    const decision = decided.get('decision')
    if (decision === 'allow') {
      const grantedAt = parts.clock.now()
      await parts.store.consents.add(signedIn.user.id, { clientId: client.id, scopes, resources, grantedAt })
      await audit(parts, request, 'consent_given', facts)
      return respond(parts, request, reply, destination, { code: await issueCode(parts, request, asked, signedIn) })
    }
    if (decision === 'switch') return askWhoAgain(parts, { request, reply, browser, continuation, asked })
    await audit(parts, request, 'consent_denied', facts)
    const error = new OAuthError('access_denied', 'the user said no')
    return respondError(parts, request, reply, destination, error)
  }
}

interface Asking {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly browser: Browser
  readonly continuation: Continuation
  readonly asked: AuthorizationRequest
}

/** Another user wants to answer: the login page, for the same request. */
function askWhoAgain(parts: Parts, { request, reply, browser, continuation, asked }: Asking): FastifyReply {
  const texts = textsFor(parts, request, asked.uiLocales)
  const begun = { ...continuation, startedAt: parts.clock.now() }
  const page = loginPage(texts, {
    formToken: formToken(parts, browser),
    continuation: sealContinuation(parts, browser, begun),
    client: asked.client.name,
    mayReset: parts.features.passwordReset,
    mayRegister: parts.features.registration,
    formTargets: [originOf(asked.redirectUri)],
  })
  return sendPage(parts, reply, texts, page)
}
