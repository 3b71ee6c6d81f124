import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { AuthorizeContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createAccessNotices } from '../mail/access-notices.ts'
import type { Access } from '../model/grants/consent.ts'
import { findDestination } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { leavesNoAccess } from '../oauth/scope.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { limitToAccess, readAccess } from './access.ts'
import { issueCode } from './code.ts'
import { sendFactorStep, sendLoginPage } from './pages.ts'
import { sendErrorResponse, sendResponse } from './response.ts'
import { type AuthorizationTransaction, readNextStep, resumeTransaction } from './transaction.ts'

/**
 * POST /consent: the user's decision about exactly the access that the page showed. What the request would add by now,
 * because roles or registrations changed meanwhile, is left out.
 */
export function consentEndpoint(
  context: AuthorizeContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    const continuation = openContinuation(context, browser, parameters.get('continuation'))
    const { signedIn } = browser
    const authorization = continuation.to === '/authorize/continue'
    if (!authorization || signedIn === undefined || continuation.consentIn !== signedIn.session.id) {
      throw new PageError(400, 'error.stale')
    }
    const transaction = await resumeTransaction(context, { request, reply, browser }, continuation)
    return applyDecision(context, transaction, signedIn, {
      decision: parameters.get('decision'),
      shown: continuation.shown,
      organization: continuation.organization,
    })
  }
}

/** The user's decision, and what the page showed to it. */
interface Decision {
  readonly decision: string | undefined
  readonly shown: Access | undefined
  readonly organization: string | undefined
}

async function applyDecision(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
  signedIn: NonNullable<Browser['signedIn']>,
  { decision, shown, organization }: Decision,
): Promise<FastifyReply> {
  const { request, client } = transaction
  const { user } = signedIn
  const destination = findDestination(client, transaction.parameters)
  try {
    const { authorization, next } = await readNextStep(context, transaction, destination)
    const allowed = shown && limitToAccess(context, authorization, shown)
    if (allowed === undefined || leavesNoAccess(authorization.scopes, allowed.scopes))
      throw new PageError(400, 'error.stale')
    if (next === 'organization' || authorization.membership?.organization.id !== organization)
      throw new PageError(400, 'error.stale')
    const access = readAccess(context, allowed)
    const facts = { actor: user.id, subject: user.id, clientId: client.id, details: { ...access } }
    if (decision === 'switch') return sendLoginPage(context, transaction, authorization, { since: context.clock.now() })
    if (decision !== 'allow') {
      await audit(context, request, 'consent_denied', facts)
      throw new OAuthError('access_denied', 'the user denied the request')
    }
    if (next === 'login')
      return sendLoginPage(context, transaction, authorization, { since: context.clock.now(), name: user.username })
    if (next === 'factor' || next === 'enrol')
      return sendFactorStep(context, transaction, authorization, { step: next, signedIn })
    const consent = { clientId: client.id, ...access, grantedAt: context.clock.now() }
    const notices = await createAccessNotices(context, request, { user, client, scopes: access.scopes })
    if (!(await context.store.consents.add(user.id, signedIn.session.id, consent, notices)))
      throw new PageError(400, 'error.stale')
    if (notices.length > 0) context.signalOutbox()
    await audit(context, request, 'consent_granted', facts)
    return sendResponse(context, transaction, destination, {
      code: await issueCode(context, request, allowed, { ...signedIn, pushed: transaction.pushed, consented: access }),
    })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return sendErrorResponse(context, transaction, destination, error)
  }
}
