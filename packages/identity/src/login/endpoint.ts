import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { LoginContext } from '../context/features.ts'
import type { LoginOutcome } from '../context/metrics.ts'
import { pageParameters } from '../http/page-route.ts'
import { normalizeName, type User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { loginPage } from '../pages/login-page.ts'
import { PageError } from '../pages/page-error.ts'
import { PasswordQueueFull } from '../passwords/hasher.ts'
import { type Browser, checkForm, formToken, isKnownDevice, readBrowser, signIn } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { resume } from '../sessions/resume.ts'
import { recordAttempt, refundAttempt, type SignInAttempt } from './attempts.ts'
import { checkEmailPage, mailSignInLink } from './confirmation.ts'

/** POST /login: name and password; then on with what the browser was about to do. */
export function loginEndpoint(
  context: LoginContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    checkForm(context, request, browser, parameters)
    const sealed = parameters.getRequired('continuation')
    const continuation = openContinuation(context, browser, sealed)
    const name = parameters.get('username') ?? ''
    const checked = await verifyCredentials(context, request, normalizeName(name), parameters)
    const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
    if ('isRight' in checked) {
      context.metrics.signIn('unconfirmed')
      void requestConfirmation(context, request, checked, { browser, continuation: sealed }).catch((error) =>
        request.log.error({ err: error }, 'a sign-in that needs confirmation was not recorded'),
      )
      return sendPage(context, reply, texts, checkEmailPage(context, texts))
    }
    const entered = 'user' in checked ? await startSession(context, request, reply, { ...checked, browser }) : checked
    context.metrics.signIn(entered === undefined ? 'success' : entered.outcome)
    if (entered === undefined) {
      return resume({ context, request, reply }, continuation, sealed)
    }
    const { status, wrong, headers } = entered
    for (const [header, value] of Object.entries(headers)) reply.header(header, value)
    const seconds = headers['retry-after'] ?? ''
    return sendPage(
      context,
      reply,
      texts,
      loginPage(texts, {
        formToken: formToken(context, browser),
        continuation: sealed,
        name,
        wrong: texts.say(wrong, { seconds }),
        status,
        mayReset: context.features.passwordReset,
        mayRegister: context.features.registration,
        client: continuation.client,
        formTargets: continuation.target === undefined ? [] : [continuation.target],
      }),
    )
  }
}

interface SignInFailure {
  readonly outcome: LoginOutcome
  readonly status: number
  /** The key of the words. */
  readonly wrong: string
  readonly headers: Readonly<Record<string, string>>
}

/** A sign-in from an unknown device to an account that others guess at: what came of its password is told by mail alone. */
interface UnconfirmedSignIn {
  readonly isRight: boolean
  readonly user: User | undefined
}

type VerifiedSignIn = { readonly user: User; readonly attempt: SignInAttempt }
type SignInResult = VerifiedSignIn | UnconfirmedSignIn | SignInFailure

/** Begins the session, unless the password was changed or the account locked since it was checked: then as if it was wrong. */
async function startSession(
  context: LoginContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, attempt, browser }: VerifiedSignIn & { readonly browser: Browser },
): Promise<SignInFailure | undefined> {
  const session = await signIn(context, request, reply, { user, amr: ['pwd'], before: browser.signedIn })
  if (session === undefined) return rejectPassword(context, request, user)
  await refundAttempt(context, attempt)
  await audit(context, request, 'login', { subject: user.id, details: { sid: session.id } })
  return undefined
}

/** The page does not wait for it: how long it takes would tell whether the password was right. */
async function requestConfirmation(
  context: LoginContext,
  request: FastifyRequest,
  { isRight, user }: UnconfirmedSignIn,
  begun: { readonly browser: Browser; readonly continuation: string },
): Promise<void> {
  if (!isRight || user?.email === undefined) await rejectPassword(context, request, user)
  else await mailSignInLink(context, request, { ...user, email: user.email }, begun)
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

/** An unknown user, a locked one and a wrong password cost and look the same. */
async function verifyCredentials(
  context: LoginContext,
  request: FastifyRequest,
  name: string,
  parameters: Parameters,
): Promise<SignInResult> {
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
  // Who has no address could never confirm, and would be locked out by anybody.
  if (counted && !(isRight && user.email === undefined)) return { isRight, user }
  return isRight ? { user, attempt } : rejectPassword(context, request, user)
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
