import { randomToken, tokenHash } from '@gatehouse/kit'
import { type PageAnswer, sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { addressOf, linkMail } from '../mail/link.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, readBrowser, signIn } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { goOn } from '../sessions/resume.ts'
import { forgetAttempts } from './attempts.ts'

/** What is said past the account's limit, whether the password was right or not: nobody learns it from the answer. */
export function checkMailPage({ lifetimes }: Parts, texts: Texts): PageAnswer {
  const minutes = String(Math.round(lifetimes.signInLink / 60))
  return messagePage(texts, 'confirm.sent', { values: { minutes }, next: signInNext })
}

/** Mails the link that completes the sign-in of a user whose password was right, in this browser. */
export async function mailSignInLink(
  parts: Parts,
  request: FastifyRequest,
  user: User & { readonly email: string },
  { browser, continuation }: { readonly browser: Browser; readonly continuation: string },
): Promise<void> {
  const { allowed } = await parts.limit('login-link', { account: user.id, address: request.ip })
  if (!allowed) return
  const token = randomToken()
  const lifeSeconds = parts.lifetimes.signInLink
  const name = typeof user.claims.name === 'string' ? user.claims.name : user.username
  const path = `/login/confirm?token=${token}`
  const link = {
    hash: tokenHash(token),
    userId: user.id,
    email: user.email,
    credentialVersion: user.credentialVersion,
    browserHash: tokenHash(browser.id),
    continuation,
    expiresAt: parts.clock.now() + lifeSeconds * 1000,
  }
  const mail = linkMail(parts, { kind: 'signIn', to: addressOf(user), name, path, lifeSeconds })
  await parts.store.signInLinks.put(link, mail)
  parts.wakeOutbox()
  await audit(parts, request, 'login_link_sent', { subject: user.id })
}

/** GET and POST /login/confirm: the mailed link completes the sign-in, once its page is confirmed (mail scanners only look). */
export function confirmSignInEndpoint(
  parts: Parts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const token = parameters.get('token') ?? ''
    const browser = await readBrowser(parts, request, reply)
    const sought = [tokenHash(token), tokenHash(browser.id), parts.clock.now()] as const
    const found = await parts.store.signInLinks.find(...sought)
    if (found === undefined) throw over()
    const continuation = openContinuation(parts, browser, found.continuation)
    if (request.method === 'GET') {
      const texts = textsFor(parts, request, String(continuation.request.ui_locales ?? ''))
      const form = { key: 'confirm', action: '/login/confirm', formToken: formToken(parts, browser), fields: [] }
      const page = formPage(texts, { ...form, hidden: { token }, values: { user: found.user.username } })
      const formTargets = continuation.target === undefined ? [] : [continuation.target]
      return sendPage(parts, reply, texts, { ...page, formTargets })
    }
    checkForm(parts, request, browser, parameters)
    const used = await parts.store.signInLinks.use(...sought)
    const entry = used && { user: used.user, amr: ['pwd'], before: browser.signedIn }
    const session = entry && (await signIn(parts, request, reply, entry))
    if (entry === undefined || session === undefined) throw over()
    const { id } = entry.user
    await forgetAttempts(parts, { account: id, address: request.ip, isKnown: false })
    await audit(parts, request, 'login', { subject: id, details: { sid: session.id, confirmed: 'mail' } })
    parts.metrics.login('success')
    return goOn({ parts, request, reply }, continuation, found.continuation)
  }
}

function over(): PageError {
  return new PageError(400, 'confirm.over', {}, signInNext)
}
