import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthorizeContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import type { Client } from '../model/client.ts'
import { pushedSignInMs } from '../model/grants/pushed-request.ts'
import { findDestination, pushedPrefix } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { Parameters } from '../oauth/parameters.ts'
import { readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { isCrossSiteForm, sendAgainWithCookies } from '../sessions/cross-site-form.ts'
import { readAccess } from './access.ts'
import { issueCode } from './code.ts'
import { isExemptFromConsent } from './next-step.ts'
import { sendConsentPage, sendFactorStep, sendLoginPage, sendOrganizationPage } from './pages.ts'
import { sendErrorResponse, sendResponse } from './response.ts'
import { type AuthorizationTransaction, findClient, readNextStep, resumeTransaction } from './transaction.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** GET and POST /authorize (RFC 6749 §3.1). */
export function authorizeEndpoint(context: AuthorizeContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    if (isCrossSiteForm(context, request)) {
      const form = { path: '/authorize', parameters }
      const findTarget = async () => findDestination(await findClient(context, parameters), parameters).redirectUri
      return sendAgainWithCookies(context, { request, reply }, form, findTarget)
    }
    const client = await findClient(context, parameters)
    const resolved = await resolvePushedRequest(context, client, parameters)
    const browser = await readBrowser(context, request, reply)
    return continueTransaction(context, { request, reply, browser, client, ...resolved, waitingSince: undefined })
  }
}

/** GET and POST /authorize/continue: resumes a request after the sign-in that it waited for. */
export function continueEndpoint(context: AuthorizeContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const continuation = openContinuation(context, browser, pageParameters(request).get('continuation'))
    return continueTransaction(context, await resumeTransaction(context, { request, reply, browser }, continuation))
  }
}

/**
 * Replaces the parameters by those of a pushed request, when they refer to one (RFC 9126 §4). It is used up by the code:
 * until then its page can be reloaded, and after it only what the same sign-in led to.
 */
async function resolvePushedRequest(
  context: AuthorizeContext,
  client: Client,
  parameters: Parameters,
): Promise<Pick<AuthorizationTransaction, 'parameters' | 'pushed'>> {
  const requestUri = parameters.get('request_uri')
  if (!requestUri?.startsWith(pushedPrefix)) return { parameters, pushed: undefined }
  const hash = tokenHash(requestUri.slice(pushedPrefix.length))
  const found = await context.store.pushedRequests.find(hash, client.id, context.clock.now())
  if (found === undefined)
    throw new OAuthError('invalid_request', 'the request_uri is invalid, expired or already used')
  return {
    parameters: new Parameters({ ...found.parameters, client_id: client.id }),
    pushed: { hash, id: randomToken(), until: found.expiresAt + pushedSignInMs },
  }
}

async function continueTransaction(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
): Promise<FastifyReply> {
  const destination = findDestination(transaction.client, transaction.parameters)
  const { signedIn } = transaction.browser
  try {
    const { authorization, next, choice } = await readNextStep(context, transaction, destination)
    if (next === 'login' || signedIn === undefined) {
      const since = transaction.waitingSince ?? context.clock.now()
      const name = authorization.loginHint ?? signedIn?.user.username
      return sendLoginPage(context, transaction, authorization, { since, name })
    }
    if (next === 'factor' || next === 'enrol')
      return sendFactorStep(context, transaction, authorization, { step: next, signedIn })
    if (choice?.kind === 'open')
      return sendOrganizationPage(context, transaction, authorization, { ...signedIn, ...choice })
    if (next === 'consent') return await sendConsentPage(context, transaction, authorization, signedIn)
    const code = await issueCode(context, transaction.request, authorization, {
      ...signedIn,
      pushed: transaction.pushed,
      consented: isExemptFromConsent(authorization) ? undefined : readAccess(context, authorization),
    })
    return sendResponse(context, transaction, destination, { code })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return sendErrorResponse(context, transaction, destination, error)
  }
}
