import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit.ts'
import { checkForm, formToken, isKnownDevice, readBrowser, signIn } from '../browser.ts'
import { openContinuation } from '../continuation.ts'
import { goOn } from '../go-on.ts'
import { pass } from '../guards.ts'
import type { LoginOutcome } from '../metrics.ts'
import { pageParameters } from '../page-route.ts'
import { loginPage } from '../pages/login-page.ts'
import { PageError } from '../pages/page-error.ts'
import type { Parameters } from '../parameters.ts'
import type { Parts } from '../parts.ts'
import { Busy } from '../passwords.ts'
import { normalName, type User } from '../user.ts'

const longestPassword = 256

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
    parts.metrics.login('user' in checked ? 'success' : checked.outcome)
    if ('user' in checked) {
      const session = await signIn(parts, request, reply, {
        user: checked.user,
        amr: ['pwd'],
        before: browser.signedIn,
      })
      await audit(parts, request, 'login', { subject: checked.user.id, details: { sid: session.id } })
      return goOn({ parts, request, reply }, continuation, sealed)
    }
    const texts = textsFor(parts, request, String(continuation.request.ui_locales ?? ''))
    const { status, wrong, headers } = checked
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

type Checked = { readonly user: User } | Refused

/** An unknown user, a locked one and a wrong password cost and look the same. */
async function check(parts: Parts, request: FastifyRequest, name: string, parameters: Parameters): Promise<Checked> {
  const password = parameters.get('password') ?? ''
  const user = name === '' || name.length > 254 ? undefined : await parts.store.users.findByLogin(name)
  const account = user?.id ?? name.slice(0, 254)
  try {
    const known = isKnownDevice(parts, request, user)
    await pass(parts.limit, [
      ['login', { account, address: request.ip }],
      ...(known ? [] : [['login-account', { account }] as const]),
    ])
  } catch (error) {
    if (error instanceof PageError) {
      return { outcome: 'limited', status: error.status, wrong: 'login.limited', headers: error.headers }
    }
    throw error
  }
  const matches = await parts.passwords.matches(password.slice(0, longestPassword), user?.passwordHash).catch(busy)
  if (typeof matches === 'object') return matches
  if (user !== undefined && matches && user.lockedAt === undefined) {
    await forgiveTries(parts, account, request.ip)
    return { user }
  }
  await audit(parts, request, 'login_failed', { subject: user?.id, details: { locked: user?.lockedAt !== undefined } })
  return { outcome: 'wrong', status: 401, wrong: 'login.wrong', headers: {} }
}

/** Who knows the password guesses no more; the account's own count stays, whoever else may be guessing. */
async function forgiveTries(parts: Parts, account: string, address: string): Promise<void> {
  try {
    await parts.forgive('login', { account, address })
  } catch (error) {
    parts.log.warn({ err: error }, 'the tries counted at sign-in are not forgotten')
  }
}

function busy(error: unknown): Refused {
  if (error instanceof Busy) {
    return { outcome: 'busy', status: error.status, wrong: 'login.busy', headers: error.headers }
  }
  throw error
}
