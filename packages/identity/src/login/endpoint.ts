import { randomToken } from '@gatehouse/kit'
import { type PageAnswer, sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { LoginContext } from '../context/features.ts'
import type { LoginOutcome } from '../context/metrics.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import { methodsOf } from '../model/authentication.ts'
import { normalizeName, type User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import { type LoginPage, loginPage } from '../pages/sign-in/login-page.ts'
import { PasswordQueueFull } from '../passwords/hasher.ts'
import { formToken, isKnownDevice, readBrowser } from '../sessions/browser.ts'
import { type Continuation, openContinuation } from '../sessions/continuation.ts'
import { finishSignIn } from '../sessions/finish-sign-in.ts'
import { answersOlderForm } from '../sessions/sign-in-form.ts'
import { type BrowserExchange, signInChoices } from '../sessions/sign-in-page.ts'
import { recordAttempt, refundAttempt, type SignInAttempt } from './attempts.ts'
import { checkEmailPage } from './confirmation.ts'
import { type BegunSignIn, mailConfirmation } from './mailed-proof.ts'

/** Sends the browser to the provider of the entered address's domain; false, without a response, when it has none. */
export type SendToOrganization = (
  exchange: BrowserExchange,
  entered: { readonly name: string; readonly continuation: string; readonly hasPassword: boolean },
) => Promise<boolean>

/**
 * POST /login: checks name and password, and resumes what the browser was doing. The password of a user whose domain
 * requires its provider is not looked at, and neither is the account: the response depends on the domain alone.
 */
export function loginEndpoint(
  context: LoginContext,
  sendToOrganization: SendToOrganization,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    const name = parameters.get('username') ?? ''
    if (await answersOlderForm(context, { request, reply, browser }, parameters, { name })) return reply
    const sealed = parameters.getRequired('continuation')
    const continuation = openContinuation(context, browser, sealed)
    const hasPassword = (parameters.get('password') ?? '') !== ''
    const entered = { name, continuation: sealed, hasPassword }
    if (await sendToOrganization({ request, reply, browser }, entered)) return reply
    const result = await verifyCredentials(context, request, parameters)
    const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
    if ('isRight' in result) {
      context.metrics.signIn('unconfirmed')
      const challenge = context.features.emailCode ? randomToken() : undefined
      const begun = { browser, continuation: sealed, challenge, amr: methodsOf.password }
      void requestConfirmation(context, request, result, begun).catch((error) =>
        request.log.error({ err: error }, 'a sign-in confirmation could not be sent'),
      )
      const { target } = continuation
      return sendPage(context, reply, texts, checkEmailPage(context, texts, { ...begun, name, target }))
    }
    if ('user' in result && (await finish(context, { request, reply, browser }, result, sealed))) return reply
    const failure = 'user' in result ? await rejectPassword(context, request, result.user) : result
    context.metrics.signIn(failure.outcome)
    for (const [header, value] of Object.entries(failure.headers)) reply.header(header, value)
    const form = { formToken: formToken(context, browser), continuation: sealed, name }
    return sendPage(context, reply, texts, failurePage(context, texts, failure, { ...form, ...clientOf(continuation) }))
  }
}

/** The client that the login page names, and where its form may lead. */
function clientOf({ client, target }: Continuation): Pick<LoginPage, 'client' | 'formTargets'> {
  return { client, formTargets: target === undefined ? [] : [target] }
}

function failurePage(
  context: LoginContext,
  texts: Texts,
  { status, wrong, headers }: SignInFailure,
  form: Pick<LoginPage, 'formToken' | 'continuation' | 'name' | 'client' | 'formTargets'>,
): PageAnswer {
  return loginPage(texts, {
    ...form,
    wrong: texts.say(wrong, { seconds: headers['retry-after'] ?? '' }),
    status,
    ...signInChoices(context),
  })
}

/** Why a sign-in failed, and how the page says so. */
interface SignInFailure {
  readonly outcome: LoginOutcome
  readonly status: number
  /** The key of the text. */
  readonly wrong: string
  readonly headers: Readonly<Record<string, string>>
}

/** A sign-in from an unknown device to an account under attack: only a mail says whether the password was correct. */
interface UnconfirmedSignIn {
  readonly isRight: boolean
  readonly user: User | undefined
  /** By what attempts are limited. */
  readonly account: string
}

/** A sign-in with a correct password. */
type VerifiedSignIn = { readonly user: User; readonly attempt: SignInAttempt }
type SignInResult = VerifiedSignIn | UnconfirmedSignIn | SignInFailure

/** False when the password changed or the account was locked meanwhile: then the password counts as wrong. */
function finish(
  context: LoginContext,
  exchange: BrowserExchange,
  { user, attempt }: VerifiedSignIn,
  sealed: string,
): Promise<boolean> {
  const refund = () => refundAttempt(context, attempt)
  return finishSignIn(context, exchange, { user, amr: methodsOf.password, refund }, sealed)
}

/** The page does not wait for this: its duration would reveal whether the password was correct. */
async function requestConfirmation(
  context: LoginContext,
  request: FastifyRequest,
  { isRight, user, account }: UnconfirmedSignIn,
  begun: Omit<BegunSignIn, 'account'>,
): Promise<void> {
  if (user !== undefined) {
    await context.store.outbox.put(createNotices(context, { user, kind: 'too_many_failures', request: undefined }))
    context.signalOutbox()
  }
  const { allowed } = isRight ? await context.limit('login-link', { account, address: request.ip }) : { allowed: false }
  if (!isRight || user?.email === undefined) await rejectPassword(context, request, user)
  await mailConfirmation(context, request, allowed ? user : undefined, { ...begun, account })
}

async function rejectPassword(
  context: LoginContext,
  request: FastifyRequest,
  user: User | undefined,
): Promise<SignInFailure> {
  await audit(context, request, 'login_failed', {
    subject: user?.id,
    details: { locked: user?.lockedAt !== undefined },
  })
  return { outcome: 'wrong', status: 401, wrong: 'login.wrong', headers: {} }
}

/** An unknown user, a locked account and a wrong password take the same time and get the same response. */
async function verifyCredentials(
  context: LoginContext,
  request: FastifyRequest,
  parameters: Parameters,
): Promise<SignInResult> {
  const name = normalizeName(parameters.get('username') ?? '')
  const password = parameters.get('password') ?? ''
  const user = name === '' || name.length > 254 ? undefined : await context.store.users.findByLogin(name)
  const attempt = {
    account: user?.id ?? name.slice(0, 254),
    address: request.ip,
    isKnown: isKnownDevice(context, request, user),
  }
  const counted = await recordAttempt(context, attempt).catch(limitedResult)
  if (typeof counted === 'object') return counted
  const matches = await context.passwords.verify(password, user?.passwordHash).catch(busyResult)
  if (typeof matches === 'object') return matches
  const isRight = user !== undefined && matches && user.lockedAt === undefined
  // A user without an address could not confirm, so anyone could lock them out.
  if (counted && !(isRight && user.email === undefined)) return { isRight, user, account: attempt.account }
  if (!isRight) return rejectPassword(context, request, user)
  await renewHash(context, user, password)
  return { user, attempt }
}

/** Replaces a hash that was made elsewhere. Under load it stays as it is until the next sign-in. */
async function renewHash(context: LoginContext, { id, passwordHash }: User, password: string): Promise<void> {
  if (passwordHash === undefined || !context.passwords.isOutdated(passwordHash)) return
  try {
    await context.store.accounts.replaceHash(id, passwordHash, await context.passwords.hash(password))
  } catch (error) {
    if (!(error instanceof PasswordQueueFull)) throw error
  }
}

function limitedResult(error: unknown): SignInFailure {
  if (error instanceof PageError) {
    return { outcome: 'limited', status: error.status, wrong: 'login.limited', headers: error.headers }
  }
  throw error
}

function busyResult(error: unknown): SignInFailure {
  if (error instanceof PasswordQueueFull) {
    return { outcome: 'busy', status: error.status, wrong: 'login.busy', headers: error.headers }
  }
  throw error
}
