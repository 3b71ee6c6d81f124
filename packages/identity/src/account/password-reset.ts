import { tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { sendLink } from '../mail/link.ts'
import { createNotices } from '../mail/notices.ts'
import { isManagementRole } from '../model/management-roles.ts'
import { normalizeName } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { newPasswordField, passwordValues } from './password-change.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const emailField: Field = { name: 'email', text: 'forgot.email', type: 'email', autocomplete: 'email' }

/** GET and POST /password/forgot: mails a link, with the same response whether there is an account or not. */
export function forgotPasswordEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    if (!context.features.passwordReset) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(context, request, reply)
    const texts = textsFor(context, request)
    if (request.method === 'GET') {
      const form = {
        key: 'forgot',
        action: '/password/forgot',
        formToken: formToken(context, browser),
        fields: [emailField],
        back: signInNext,
      }
      return sendPage(context, reply, texts, formPage(texts, form))
    }
    const parameters = pageParameters(request)
    checkForm(context, request, browser, parameters)
    const email = normalizeName(parameters.get('email') ?? '').slice(0, 254)
    await enforceLimits(context.limit, [
      ['reset-address', { address: request.ip }],
      ['reset', { account: email }],
    ])
    // The response does not wait for the mail: its duration would reveal whether there is an account.
    void sendReset(context, request, email).catch((error) =>
      request.log.error({ err: error }, 'a reset link could not be sent'),
    )
    const minutes = String(Math.round(context.lifetimes.resetLink / 60))
    return sendPage(context, reply, texts, messagePage(texts, 'forgot.done', { values: { minutes } }))
  }
}

async function sendReset(context: AccountContext, request: FastifyRequest, email: string): Promise<void> {
  const user = email.includes('@') ? await context.store.users.findByLogin(email) : undefined
  if (user?.email === undefined || user.email.toLowerCase() !== email || user.lockedAt !== undefined) return
  // Not by mail for administrators: who manages notifications decides where mails go, and may have less access than
  // this user.
  if (user.roles.some(isManagementRole)) return
  await sendLink(context, 'reset', user)
  await audit(context, request, 'password_reset_requested', { subject: user.id })
}

/** GET and POST /password/reset: sets a new password by a mailed link; every session and grant ends. */
export function resetPasswordEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    if (!context.features.passwordReset) throw new PageError(404, 'error.missing')
    const token = pageParameters(request).get('token') ?? ''
    const link = await context.store.mailedLinks.find(tokenHash(token), 'reset', context.clock.now())
    if (link === undefined) throw expiredLink()
    const browser = await readBrowser(context, request, reply)
    const texts = textsFor(context, request)
    const form: FormPage = {
      key: 'reset',
      action: '/password/reset',
      formToken: formToken(context, browser),
      fields: [newPasswordField],
      hidden: { token },
      values: passwordValues(context),
    }
    if (request.method === 'GET') return sendPage(context, reply, texts, formPage(texts, form))
    const parameters = pageParameters(request)
    checkForm(context, request, browser, parameters)
    const password = parameters.get('new_password') ?? ''
    const owner = await context.store.users.find(link.userId)
    const fault = context.passwordPolicy.findFault(password, owner ?? link)
    if (fault !== undefined) {
      const wrong = { wrong: `password.${fault}`, wrongField: 'new_password' }
      return sendPage(context, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    const hash = await context.passwords.hash(password)
    const messages = owner === undefined ? [] : createNotices(context, { user: owner, kind: 'password_reset', request })
    const reset = { linkHash: link.hash, passwordHash: hash, messages }
    if (!(await context.store.accounts.resetPassword(reset, signOutOptions(context)))) throw expiredLink()
    context.signalOutbox()
    await audit(context, request, 'password_changed', {
      actor: link.userId,
      subject: link.userId,
      details: { by: 'mail' },
    })
    return sendPage(context, reply, texts, messagePage(texts, 'password.done', { next: signInNext }))
  }
}

/** GET and POST /email/verify: verifies the address once the page is submitted; mail scanners only open it. */
export function verifyEmailEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    const token = pageParameters(request).get('token') ?? ''
    const link = await context.store.mailedLinks.find(tokenHash(token), 'verify', context.clock.now())
    if (link === undefined) throw new PageError(400, 'reset.expired')
    const browser = await readBrowser(context, request, reply)
    const texts = textsFor(context, request)
    if (request.method === 'GET') {
      const form = { key: 'verify', action: '/email/verify', formToken: formToken(context, browser), fields: [] }
      const page = formPage(texts, { ...form, hidden: { token }, values: { email: link.email } })
      return sendPage(context, reply, texts, page)
    }
    checkForm(context, request, browser, pageParameters(request))
    if (!(await context.store.accounts.verifyEmail(link.hash, context.clock.now()))) {
      throw new PageError(400, 'reset.expired')
    }
    await audit(context, request, 'email_verified', { actor: link.userId, subject: link.userId })
    return sendPage(context, reply, texts, messagePage(texts, 'verify.done', { next: signInNext }))
  }
}

function expiredLink(): PageError {
  return new PageError(400, 'reset.expired', {}, { href: '/password/forgot', text: 'login.forgot' })
}
