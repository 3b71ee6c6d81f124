import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { findRequiredConnection } from '../connections/home.ts'
import type { FactorContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { methodsOf } from '../model/authentication.ts'
import { usableFactors } from '../model/factors/second-factor.ts'
import type { User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { recoveryCodesPage } from '../pages/account/recovery-codes-page.ts'
import { PageError } from '../pages/page-error.ts'
import { loginPage } from '../pages/sign-in/login-page.ts'
import { findKnownDevice, formToken, isKnownDevice, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { resumeSealed } from '../sessions/finish-sign-in.ts'
import { maxRedirectLength } from '../sessions/resume.ts'
import { completeSignIn, type FactorProof } from '../sessions/second-factor/complete-sign-in.ts'
import { proveApp } from '../sessions/second-factor/enrolment.ts'
import { type FactorRequest, sendEnrolPage, sendFactorPage, targetsOf } from '../sessions/second-factor/factor-pages.ts'
import {
  isThrough,
  mayBeFormOf,
  openPendingSignIn,
  waitingAtProvider,
} from '../sessions/second-factor/pending-sign-in.ts'
import { rememberDevice } from '../sessions/second-factor/remembered-device.ts'
import { answersOlderForm } from '../sessions/sign-in-form.ts'
import { type BrowserExchange, signInChoices } from '../sessions/sign-in-page.ts'
import { type RejectedFactor, verifyFactor } from './verification.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** POST /login/factor: completes a sign-in, or raises a session, by the second factor. */
export function factorSignInEndpoint(context: FactorContext): Handler {
  return async (request, reply) => {
    const read = await readPendingRequest(context, request, reply)
    if (read === undefined) return reply
    const { exchange, parameters, pendingRequest } = read
    const { user, pending, continuation } = pendingRequest
    const waiting = waitingAtProvider(exchange.browser, pending)
    if (waiting !== undefined && (await context.store.providerSessions.isVoid(waiting)))
      throw new PageError(400, 'error.stale')
    const device = findKnownDevice(context, request, user) ?? 'unknown'
    const attempt = { account: user.id, device, challenge: pending.challenge }
    const result = await verifyFactor(context, request, { user, attempt }, parameters)
    if ('rejected' in result) return rejectFactor(context, exchange, pendingRequest, result)
    await complete(context, exchange, { user, pending, amr: result.amr })
    const mayRemember = pending.raises === undefined && parameters.get('recovery_code') === undefined
    if (mayRemember && parameters.get('remember') === 'yes') await rememberDevice(context, request, reply, user)
    return resumeSealed(context, exchange, continuation)
  }
}

/** POST /login/enrol: completes a sign-in by the user's first factor, and shows the recovery codes. */
export function enrolSignInEndpoint(context: FactorContext): Handler {
  return async (request, reply) => {
    const read = await readPendingRequest(context, request, reply)
    if (read === undefined) return reply
    const { exchange, parameters, pendingRequest } = read
    const { user, pending, continuation, factors } = pendingRequest
    // Whoever has a factor by now signs in with it.
    if (factors.length > 0) throw new PageError(400, 'error.stale')
    const enrolment = parameters.getRequired('enrolment')
    const { browser } = exchange
    const raises = pending.raises === undefined ? undefined : browser.signedIn?.session
    const origin = { raises, details: pending.details, waiting: waitingAtProvider(browser, pending) }
    const proof = { enrolment, code: parameters.get('code') }
    const proven = await proveApp(context, { ...exchange, user }, proof, origin)
    if (proven === undefined)
      return sendEnrolPage(context, exchange, pendingRequest, { wrong: 'enrol.wrong', status: 400, enrolment })
    const isKnown = isKnownDevice(context, request, user)
    const factor = { user: proven.user, pending, amr: methodsOf.totp, isKnown }
    const isVoid = raises === undefined && (await completeSignIn(context, exchange, factor)) === undefined
    // The new codes are stored by now: this is their only page, also where a logout came between.
    if (isVoid && proven.codes === undefined) throw new PageError(400, 'error.stale')
    if (proven.codes === undefined) return resumeSealed(context, exchange, continuation)
    const resumed = openContinuation(context, browser, continuation)
    const texts = textsFor(context, request, String(resumed.request.ui_locales ?? ''))
    const method = continuation.length <= maxRedirectLength ? 'get' : 'post'
    const page = { codes: proven.codes, to: resumed.to, continuation, method, formTargets: targetsOf(resumed) } as const
    return sendPage(context, reply, texts, recoveryCodesPage(texts, page))
  }
}

interface ReadRequest {
  readonly exchange: BrowserExchange
  readonly parameters: Parameters
  readonly pendingRequest: FactorRequest
}

/**
 * Undefined when a form from before a sign-in in another tab was answered.
 * @throws PageError 400 when the sign-in is another browser's, too old, or void because the credentials changed or another
 *   connection has become the only way to sign in
 */
async function readPendingRequest(
  context: FactorContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ReadRequest | undefined> {
  const parameters = pageParameters(request)
  const browser = await readBrowser(context, request, reply)
  const exchange = { request, reply, browser }
  const sealed = parameters.get('pending')
  const isAbout = ({ id }: User) => mayBeFormOf(context, browser, sealed, id)
  if (await answersOlderForm(context, exchange, parameters, { isAbout })) return undefined
  const continuation = parameters.getRequired('continuation')
  openContinuation(context, browser, continuation)
  const pending = openPendingSignIn(context, browser, sealed)
  const user = await context.store.users.find(pending.userId)
  if (!isCurrent(user, pending.credentialVersion)) throw new PageError(400, 'error.stale')
  if (!isThrough(pending, await findRequiredConnection(context, user.email))) throw new PageError(400, 'error.stale')
  const { factors } = await context.store.factors.find(user.id)
  const kinds = factors.map(({ kind }) => kind)
  const pendingRequest = { user, pending, continuation, factors: usableFactors(kinds, context.features) }
  return { exchange, parameters, pendingRequest }
}

function isCurrent(user: User | undefined, credentialVersion: string): user is User {
  return user !== undefined && user.lockedAt === undefined && user.credentialVersion === credentialVersion
}

/** @throws PageError 400 when what waits became void meanwhile */
async function complete(context: FactorContext, exchange: BrowserExchange, proof: FactorProof): Promise<void> {
  if ((await completeSignIn(context, exchange, proof)) === undefined) throw new PageError(400, 'error.stale')
}

function rejectFactor(
  context: FactorContext,
  exchange: BrowserExchange,
  pendingRequest: FactorRequest,
  { rejected, text, retryAfter = 0 }: RejectedFactor,
): FastifyReply {
  context.metrics.signIn(rejected === 'wrong' ? 'wrong' : 'limited')
  if (rejected === 'challenge') return sendLoginAgain(context, exchange, pendingRequest)
  if (rejected === 'limited') exchange.reply.header('retry-after', String(retryAfter))
  const status = rejected === 'limited' ? 429 : 401
  const fault = { wrong: text, values: { seconds: String(retryAfter) }, status }
  return sendFactorPage(context, exchange, pendingRequest, fault)
}

/** After too many wrong codes the sign-in begins again, with its first way. */
function sendLoginAgain(
  context: FactorContext,
  { request, reply, browser }: BrowserExchange,
  { continuation }: FactorRequest,
): FastifyReply {
  const resumed = openContinuation(context, browser, continuation)
  const texts = textsFor(context, request, String(resumed.request.ui_locales ?? ''))
  const page = loginPage(texts, {
    formToken: formToken(context, browser),
    continuation,
    client: resumed.client,
    wrong: texts.say('factor.restart'),
    status: 429,
    formTargets: targetsOf(resumed),
    ...signInChoices(context),
  })
  return sendPage(context, reply, texts, page)
}
