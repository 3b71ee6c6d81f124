import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import type { Access } from '../model/consent.ts'
import { destinationOf } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { nothingLeft } from '../oauth/scope.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { accessOf, limitedTo } from './access.ts'
import { issueCode } from './code.ts'
import { askLogin } from './pages.ts'
import { respond, respondError } from './response.ts'
import { nextOf, type Proceeding, resumed } from './transaction.ts'

/**
 * POST /consent: what the user decided about exactly what the page showed. What the request would bring beyond that by
 * now, since roles or registrations changed meanwhile, was not agreed to and is left out.
 */
export function consentEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const decided = pageParameters(request)
    const browser = await readBrowser(parts, request, reply)
    checkForm(parts, request, browser, decided)
    const continuation = openContinuation(parts, browser, decided.get('continuation'))
    const { signedIn } = browser
    const asked = continuation.to === '/authorize/continue'
    if (!asked || signedIn === undefined || continuation.consentIn !== signedIn.session.id) {
      throw new PageError(400, 'error.stale')
    }
    const at = await resumed(parts, { request, reply, browser }, continuation)
    return decide(parts, at, signedIn, { decision: decided.get('decision'), shown: continuation.shown })
  }
}

async function decide(
  parts: Parts,
  at: Proceeding,
  signedIn: NonNullable<Browser['signedIn']>,
  { decision, shown }: { readonly decision: string | undefined; readonly shown: Access | undefined },
): Promise<FastifyReply> {
  const { request, reply, client } = at
  const { user } = signedIn
  const destination = destinationOf(client, at.parameters)
  try {
    const { asked, next } = await nextOf(parts, at, destination)
    const allowed = shown && limitedTo(parts, asked, shown)
    if (allowed === undefined || nothingLeft(asked.scopes, allowed.scopes)) throw new PageError(400, 'error.stale')
    const access = accessOf(parts, allowed)
    const facts = { actor: user.id, subject: user.id, clientId: client.id, details: { ...access } }
    if (decision === 'switch') return askLogin(parts, at, asked, parts.clock.now())
    if (decision !== 'allow') {
      await audit(parts, request, 'consent_denied', facts)
      throw new OAuthError('access_denied', 'the user said no')
    }
    if (next === 'login') return askLogin(parts, at, asked, parts.clock.now(), user.username)
    const consent = { clientId: client.id, ...access, grantedAt: parts.clock.now() }
    if (!(await parts.store.consents.add(user.id, signedIn.session.id, consent)))
      throw new PageError(400, 'error.stale')
    await audit(parts, request, 'consent_given', facts)
    return respond(parts, request, reply, destination, { code: await issueCode(parts, request, allowed, signedIn) })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return respondError(parts, request, reply, destination, error)
  }
}
