import { randomToken, tokenHash } from '@gatehouse/kit'
import { type PageAnswer, sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { LoginContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createLinkMail, mailAddress } from '../mail/link.ts'
import { methodsOf } from '../model/authentication.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { finishSignIn } from '../sessions/finish-sign-in.ts'
import { refundAttempt } from './attempts.ts'

/** The page past the account's limit, whether the password was correct or not, so that it reveals nothing. */
export function checkEmailPage({ lifetimes }: LoginContext, texts: Texts): PageAnswer {
  const minutes = String(Math.round(lifetimes.signInLink / 60))
  return messagePage(texts, 'confirm.sent', { values: { minutes }, next: signInNext })
}

/** Mails the link that completes the sign-in of a user with a correct password, in this browser. */
export async function mailSignInLink(
  context: LoginContext,
  request: FastifyRequest,
  user: User & { readonly email: string },
  { browser, continuation }: { readonly browser: Browser; readonly continuation: string },
): Promise<void> {
  const { allowed } = await context.limit('login-link', { account: user.id, address: request.ip })
  if (!allowed) return
  const token = randomToken()
  const lifeSeconds = context.lifetimes.signInLink
  const name = typeof user.claims.name === 'string' ? user.claims.name : user.username
  const path = `/login/confirm?token=${token}`
  const link = {
    hash: tokenHash(token),
    userId: user.id,
    email: user.email,
    credentialVersion: user.credentialVersion,
    browserHash: tokenHash(browser.id),
    continuation,
    expiresAt: context.clock.now() + lifeSeconds * 1000,
  }
  const mail = createLinkMail(context, { kind: 'signIn', to: mailAddress(user), name, path, lifeSeconds })
  await context.store.signInLinks.put(link, mail)
  context.signalOutbox()
  await audit(context, request, 'login_link_sent', { subject: user.id })
}

/** GET and POST /login/confirm: completes the sign-in once the page is submitted; mail scanners only open it. */
export function confirmSignInEndpoint(
  context: LoginContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const token = parameters.get('token') ?? ''
    const browser = await readBrowser(context, request, reply)
    const lookup = [tokenHash(token), tokenHash(browser.id), context.clock.now()] as const
    const found = await context.store.signInLinks.find(...lookup)
    if (found === undefined) throw expiredLink()
    const continuation = openContinuation(context, browser, found.continuation)
    if (request.method === 'GET') {
      const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
      const form = { key: 'confirm', action: '/login/confirm', formToken: formToken(context, browser), fields: [] }
      const page = formPage(texts, { ...form, hidden: { token }, values: { user: found.user.username } })
      const formTargets = continuation.target === undefined ? [] : [continuation.target]
      return sendPage(context, reply, texts, { ...page, formTargets })
    }
    checkForm(context, request, browser, parameters)
    const used = await context.store.signInLinks.consume(...lookup)
    const attempt = { account: used?.user.id ?? '', address: request.ip, isKnown: false }
    const proven = used && {
      user: used.user,
      amr: methodsOf.password,
      details: { confirmed: 'mail' },
      refund: () => refundAttempt(context, attempt),
    }
    const finished = proven && (await finishSignIn(context, { request, reply, browser }, proven, found.continuation))
    if (finished !== true) throw expiredLink()
    return reply
  }
}

function expiredLink(): PageError {
  return new PageError(400, 'confirm.expired', {}, signInNext)
}
