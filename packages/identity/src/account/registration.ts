import { randomUUIDv7 } from 'node:crypto'
import { isEmailAddress, randomToken, tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createLinkMail } from '../mail/link.ts'
import { createNotices } from '../mail/notices.ts'
import { normalizeName } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { createUserHandle } from '../webauthn/registration.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const emailField: Field = { name: 'email', text: 'register.email', type: 'email', autocomplete: 'email' }

/**
 * GET and POST /register: mails a link to the address and asks for nothing else. An address with an account gets the
 * same page, and a mail that says so.
 */
export function registerEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    if (!context.features.registration) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(context, request, reply)
    const texts = textsFor(context, request)
    const parameters = pageParameters(request)
    const value = request.method === 'GET' ? undefined : parameters.get('email')
    const form: FormPage = {
      key: 'register',
      action: '/register',
      back: signInNext,
      formToken: formToken(context, browser),
      fields: [{ ...emailField, value }],
    }
    if (request.method === 'GET') return sendPage(context, reply, texts, formPage(texts, form))
    checkForm(context, request, browser, parameters)
    const email = normalizeName(value ?? '')
    if (!isEmailAddress(email)) {
      const wrong = { wrong: 'register.email.wrong', wrongField: 'email' }
      return sendPage(context, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    await enforceLimits(context.limit, [
      ['registration', { address: request.ip }],
      ['registration-account', { account: email }],
    ])
    // The response does not wait for the mail: its duration would reveal whether there is an account.
    void sendMail(context, request, email).catch((error) =>
      request.log.error({ err: error }, 'a registration mail could not be sent'),
    )
    return sendPage(context, reply, texts, messagePage(texts, 'register.done', { values: { email } }))
  }
}

async function sendMail(context: AccountContext, request: FastifyRequest, email: string): Promise<void> {
  const user = await context.store.users.findByLogin(email)
  if (user === undefined) await sendLink(context, email)
  else if (user.email?.toLowerCase() === email) {
    await context.store.outbox.put(createNotices(context, { user, kind: 'account_exists', request }))
    context.signalOutbox()
  }
}

async function sendLink(context: AccountContext, email: string): Promise<void> {
  const token = randomToken()
  const lifeSeconds = context.lifetimes.verifyLink
  const userId = randomUUIDv7()
  const expiresAt = context.clock.now() + lifeSeconds * 1000
  const path = `/register/confirm?token=${token}`
  const registration = { hash: tokenHash(token), userId, userHandle: createUserHandle(), email, expiresAt }
  await context.store.registrations.put(registration, [
    createLinkMail(context, { kind: 'registration', to: { userId, email }, name: email, path, lifeSeconds }),
  ])
  context.signalOutbox()
}
