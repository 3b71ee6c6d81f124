import { tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { pass } from '../config/attempt-limits.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { mailLink } from '../mail/link.ts'
import { isManagementRole } from '../model/management-roles.ts'
import { normalName } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { endOfUser } from '../sessions/end-session.ts'
import { newPasswordField, passwordValues } from './password-change.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const emailField: Field = { name: 'email', text: 'forgot.email', type: 'email', autocomplete: 'email' }

/** GET and POST /password/forgot: mails a link, and says the same whether there is such an account or not. */
export function forgotPasswordEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    if (!parts.features.passwordReset) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    if (request.method === 'GET') {
      const form = {
        key: 'forgot',
        action: '/password/forgot',
        formToken: formToken(parts, browser),
        fields: [emailField],
        back: signInNext,
      }
      return sendPage(parts, reply, texts, formPage(texts, form))
    }
    const parameters = pageParameters(request)
    checkForm(parts, request, browser, parameters)
    const email = normalName(parameters.get('email') ?? '').slice(0, 254)
    await pass(parts.limit, [
      ['reset-address', { address: request.ip }],
      ['reset', { account: email }],
    ])
    // The answer does not wait for it: how long it takes would tell whether there is an account.
    void sendReset(parts, request, email).catch((error) =>
      request.log.error({ err: error }, 'a reset link was not sent'),
    )
    const minutes = String(Math.round(parts.lifetimes.resetLink / 60))
    return sendPage(parts, reply, texts, messagePage(texts, 'forgot.done', { values: { minutes } }))
  }
}

async function sendReset(parts: Parts, request: FastifyRequest, email: string): Promise<void> {
  const user = email.includes('@') ? await parts.store.users.findByLogin(email) : undefined
  if (user?.email === undefined || user.email.toLowerCase() !== email || user.lockedAt !== undefined) return
  // Who manages notifications decides where mails go and what they say, and may hold less than this user does.
  if (user.roles.some(isManagementRole)) return
  await mailLink(parts, 'reset', user)
  await audit(parts, request, 'password_reset_asked', { subject: user.id })
}

/** GET and POST /password/reset: a new password by the mailed link; every session and grant ends. */
export function resetPasswordEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    if (!parts.features.passwordReset) throw new PageError(404, 'error.missing')
    const token = pageParameters(request).get('token') ?? ''
    const link = await parts.store.links.find(tokenHash(token), 'reset', parts.clock.now())
    if (link === undefined) throw resetOver()
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    const form: FormPage = {
      key: 'reset',
      action: '/password/reset',
      formToken: formToken(parts, browser),
      fields: [newPasswordField],
      hidden: { token },
      values: passwordValues(parts),
    }
    if (request.method === 'GET') return sendPage(parts, reply, texts, formPage(texts, form))
    const parameters = pageParameters(request)
    checkForm(parts, request, browser, parameters)
    const password = parameters.get('new_password') ?? ''
    const owner = await parts.store.users.find(link.userId)
    const fault = parts.passwordRule.faultOf(password, owner ?? link)
    if (fault !== undefined) {
      const wrong = { wrong: `password.${fault}`, wrongField: 'new_password' }
      return sendPage(parts, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    const hash = await parts.passwords.hash(password)
    if (!(await parts.store.accounts.resetPassword(link.hash, hash, endOfUser(parts)))) {
      throw resetOver()
    }
    parts.wakeOutbox()
    await audit(parts, request, 'password_changed', {
      actor: link.userId,
      subject: link.userId,
      details: { by: 'mail' },
    })
    return sendPage(parts, reply, texts, messagePage(texts, 'password.done', { next: signInNext }))
  }
}

/** GET and POST /email/verify: the link proves the address, once its page is confirmed (mail scanners only look). */
export function verifyEmailEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const token = pageParameters(request).get('token') ?? ''
    const link = await parts.store.links.find(tokenHash(token), 'verify', parts.clock.now())
    if (link === undefined) throw new PageError(400, 'reset.over')
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    if (request.method === 'GET') {
      const form = { key: 'verify', action: '/email/verify', formToken: formToken(parts, browser), fields: [] }
      const page = formPage(texts, { ...form, hidden: { token }, values: { email: link.email } })
      return sendPage(parts, reply, texts, page)
    }
    checkForm(parts, request, browser, pageParameters(request))
    if (!(await parts.store.accounts.verifyEmail(link.hash, parts.clock.now()))) {
      throw new PageError(400, 'reset.over')
    }
    await audit(parts, request, 'email_verified', { actor: link.userId, subject: link.userId })
    return sendPage(parts, reply, texts, messagePage(texts, 'verify.done', { next: signInNext }))
  }
}

function resetOver(): PageError {
  return new PageError(400, 'reset.over', {}, { href: '/password/forgot', text: 'login.forgot' })
}
