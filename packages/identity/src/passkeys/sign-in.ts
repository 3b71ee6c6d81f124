import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { findRequiredConnection } from '../connections/home.ts'
import type { PasskeyContext } from '../context/features.ts'
import type { LoginOutcome } from '../context/metrics.ts'
import { pageParameters } from '../http/page-route.ts'
import type { User } from '../model/user.ts'
import { PageError } from '../pages/page-error.ts'
import { loginPage } from '../pages/sign-in/login-page.ts'
import { formToken, readBrowser } from '../sessions/browser.ts'
import { type Continuation, openContinuation } from '../sessions/continuation.ts'
import { finishSignIn, resumeSealed } from '../sessions/finish-sign-in.ts'
import { completeSignIn } from '../sessions/second-factor/complete-sign-in.ts'
import {
  findPendingSignIn,
  isThrough,
  mayBeFormOf,
  type PendingSignIn,
} from '../sessions/second-factor/pending-sign-in.ts'
import { answersOlderForm } from '../sessions/sign-in-form.ts'
import { type BrowserExchange, signInChoices } from '../sessions/sign-in-page.ts'
import { type VerifiedAssertion, verifyAssertion } from '../webauthn/assertion.ts'
import { readResponse } from '../webauthn/response.ts'

/**
 * POST /login/passkey: signs in whoever the credential proves, or completes the sign-in of theirs that waits for a second
 * factor, and resumes what the browser was doing.
 */
export function passkeySignInEndpoint(
  context: PasskeyContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const exchange = { request, reply, browser: await readBrowser(context, request, reply) }
    const pending = parameters.get('pending')
    const credential = parameters.get('credential') ?? ''
    const isAbout = async ({ id }: User) =>
      mayBeFormOf(context, exchange.browser, pending, id) && (await mayBePasskeyOf(context, credential, id))
    if (await answersOlderForm(context, exchange, parameters, { isAbout })) return reply
    const sealed = parameters.getRequired('continuation')
    const continuation = openContinuation(context, exchange.browser, sealed)
    const attempt = { address: request.ip }
    const { allowed, retryAfter = 60 } = await context.limit('passkey-address', attempt)
    if (!allowed) {
      reply.header('retry-after', String(retryAfter))
      return sendFailure(context, exchange, { continuation, sealed }, limitedFailure(retryAfter))
    }
    const verified = await verifyAssertion(context, exchange, { purpose: 'sign-in' }, credential)
    if ('user' in verified && (await finish(context, exchange, verified, { sealed, pending }))) return reply
    const subject = 'user' in verified ? verified.user.id : verified.userId
    const details = { passkey: 'user' in verified ? 'account changed' : verified.fault }
    await audit(context, request, 'login_failed', { subject, details })
    return sendFailure(context, exchange, { continuation, sealed }, rejected)
  }
}

/** Whether a response, which is not verified, may be this user's: false where its passkey is somebody else's. */
async function mayBePasskeyOf({ store }: PasskeyContext, text: string, userId: string): Promise<boolean> {
  const sent = readResponse<AuthenticationResponseJSON>(text)
  const owner = sent && (await store.passkeys.find(sent.response.id))
  return (owner?.user.id ?? userId) === userId
}

/**
 * False, without effect, as for {@link finishSignIn}.
 * @throws PageError 400 when what waits became void meanwhile
 */
async function finish(
  context: PasskeyContext,
  exchange: BrowserExchange,
  { user, amr, passkey }: VerifiedAssertion,
  { sealed, pending: sealedPending }: { readonly sealed: string; readonly pending: string | undefined },
): Promise<boolean> {
  const refund = () => refundAttempt(context, exchange.request.ip)
  const details = { passkey: passkey.id }
  const found = findPendingSignIn(context, exchange.browser, sealedPending)
  // One that is not theirs, or is void, counts as none: a passkey is a sign-in by itself.
  const pending = found && isOf(found, user) ? found : undefined
  const required = pending && (await findRequiredConnection(context, user.email))
  if (pending === undefined || !isThrough(pending, required))
    return finishSignIn(context, exchange, { user, amr, details, refund }, sealed)
  // Where a passkey may sign in alone the user signs in now.
  const authTime = required === undefined ? context.clock.now() : undefined
  const proof = { user, pending, amr, details, authTime }
  if ((await completeSignIn(context, exchange, proof)) === undefined) throw new PageError(400, 'error.stale')
  await refund()
  resumeSealed(context, exchange, sealed)
  return true
}

function isOf(pending: PendingSignIn, { id, credentialVersion }: User): boolean {
  return pending.userId === id && pending.credentialVersion === credentialVersion
}

/** How the page reports a failure: every reason looks the same. */
interface Failure {
  readonly outcome: LoginOutcome
  readonly status: number
  /** The key of the text. */
  readonly wrong: string
  readonly seconds?: number
}

const rejected: Failure = { outcome: 'wrong', status: 401, wrong: 'login.passkey.wrong' }
const limitedFailure = (seconds: number): Failure => ({
  outcome: 'limited',
  status: 429,
  wrong: 'login.limited',
  seconds,
})

/** Sends the login page again. */
function sendFailure(
  context: PasskeyContext,
  { request, reply, browser }: BrowserExchange,
  { continuation, sealed }: { readonly continuation: Continuation; readonly sealed: string },
  { outcome, status, wrong, seconds = 0 }: Failure,
): FastifyReply {
  context.metrics.signIn(outcome, 'passkey')
  const { client, target } = continuation
  const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
  const page = loginPage(texts, {
    formToken: formToken(context, browser),
    continuation: sealed,
    client,
    formTargets: target === undefined ? [] : [target],
    wrong: texts.say(wrong, { seconds: String(seconds) }),
    status,
    ...signInChoices(context),
  })
  return sendPage(context, reply, texts, page)
}

/** By address only failures count. */
async function refundAttempt({ refund, log }: PasskeyContext, address: string): Promise<void> {
  try {
    await refund('passkey-address', { address })
  } catch (error) {
    log.warn({ err: error }, 'a successful sign-in by passkey was not refunded')
  }
}
