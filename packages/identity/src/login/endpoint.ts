import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import type { LoginOutcome } from '../context/metrics.ts'
import { pageParameters } from '../http/page-route.ts'
import { normalName, type User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { loginPage } from '../pages/login-page.ts'
import { PageError } from '../pages/page-error.ts'
import { Busy } from '../passwords/hasher.ts'
import { type Browser, checkForm, formToken, isKnownDevice, readBrowser, signIn } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { goOn } from '../sessions/resume.ts'
import { type Attempt, countAttempt, forgetAttempts } from './attempts.ts'
import { checkMailPage, mailSignInLink } from './confirmation.ts'

/** POST /login: name and password; then on with what the browser was about to do. */
export function loginEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const browser = await readBrowser(parts, request, reply)
    checkForm(parts, request, browser, parameters)
    const sealed = parameters.required('continuation')
    const continuation = openContinuation(parts, browser, sealed)
    const name = parameters.get('username') ?? ''
    const checked = await check(parts, request, normalName(name), parameters)
    const texts = textsFor(parts, request, String(continuation.request.ui_locales ?? ''))
    if ('isRight' in checked) {
      parts.metrics.login('unconfirmed')
      void confirm(parts, request, checked, { browser, continuation: sealed }).catch((error) =>
        request.log.error({ err: error }, 'a sign-in that needs to be confirmed was not taken down'),
      )
      return sendPage(parts, reply, texts, checkMailPage(parts, texts))
    }
    const entered = 'user' in checked ? await enter(parts, request, reply, { ...checked, browser }) : checked
    parts.metrics.login(entered === undefined ? 'success' : entered.outcome)
    if (entered === undefined) {
      return goOn({ parts, request, reply }, continuation, sealed)
    }
    const { status, wrong, headers } = entered
    for (const [header, value] of Object.entries(headers)) reply.header(header, value)
    const seconds = headers['retry-after'] ?? ''
    return sendPage(
      parts,
      reply,
      texts,
      loginPage(texts, {
        formToken: formToken(parts, browser),
        continuation: sealed,
        name,
        wrong: texts.say(wrong, { seconds }),
        status,
        mayReset: parts.features.passwordReset,
        mayRegister: parts.features.registration,
        client: continuation.client,
        formTargets: continuation.target === undefined ? [] : [continuation.target],
      }),
    )
  }
}

interface Refused {
  readonly outcome: LoginOutcome
  readonly status: number
  /** The key of the words. */
  readonly wrong: string
  readonly headers: Readonly<Record<string, string>>
}

/** A sign-in from an unknown device to an account that others guess at: what came of its password is told by mail alone. */
interface Unconfirmed {
  readonly isRight: boolean
  readonly tried: User | undefined
}

type Right = { readonly user: User; readonly attempt: Attempt }
type Checked = Right | Unconfirmed | Refused

/** Begins the session, unless the password was changed or the account locked since it was checked: then as if it was wrong. */
async function enter(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, attempt, browser }: Right & { readonly browser: Browser },
): Promise<Refused | undefined> {
  const session = await signIn(parts, request, reply, { user, amr: ['pwd'], before: browser.signedIn })
  if (session === undefined) return wrongPassword(parts, request, user)
  await forgetAttempts(parts, attempt)
  await audit(parts, request, 'login', { subject: user.id, details: { sid: session.id } })
  return undefined
}

/** The page does not wait for it: how long it takes would tell whether the password was right. */
async function confirm(
  parts: Parts,
  request: FastifyRequest,
  { isRight, tried }: Unconfirmed,
  begun: { readonly browser: Browser; readonly continuation: string },
): Promise<void> {
  if (!isRight || tried?.email === undefined) await wrongPassword(parts, request, tried)
  else await mailSignInLink(parts, request, { ...tried, email: tried.email }, begun)
}

async function wrongPassword(parts: Parts, request: FastifyRequest, user: User | undefined): Promise<Refused> {
  await audit(parts, request, 'login_failed', { subject: user?.id, details: { locked: user?.lockedAt !== undefined } })
  return { outcome: 'wrong', status: 401, wrong: 'login.wrong', headers: {} }
}

/** An unknown user, a locked one and a wrong password cost and look the same. */
async function check(parts: Parts, request: FastifyRequest, name: string, parameters: Parameters): Promise<Checked> {
  const password = parameters.get('password') ?? ''
  const user = name === '' || name.length > 254 ? undefined : await parts.store.users.findByLogin(name)
  const attempt = {
    account: user?.id ?? name.slice(0, 254),
    address: request.ip,
    isKnown: isKnownDevice(parts, request, user),
  }
  const counted = await countAttempt(parts, attempt).catch(limited)
  if (typeof counted === 'object') return counted
  const matches = await parts.passwords.matches(password, user?.passwordHash).catch(busy)
  if (typeof matches === 'object') return matches
  const isRight = user !== undefined && matches && user.lockedAt === undefined
  // Who has no address could never confirm, and would be locked out by anybody.
  if (counted && !(isRight && user.email === undefined)) return { isRight, tried: user }
  return isRight ? { user, attempt } : wrongPassword(parts, request, user)
}

function limited(error: unknown): Refused {
  if (error instanceof PageError) {
    return { outcome: 'limited', status: error.status, wrong: 'login.limited', headers: error.headers }
  }
  throw error
}

function busy(error: unknown): Refused {
  if (error instanceof Busy) {
    return { outcome: 'busy', status: error.status, wrong: 'login.busy', headers: error.headers }
  }
  throw error
}
