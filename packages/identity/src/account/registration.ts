import { randomUUIDv7 } from 'node:crypto'
import { isEmailAddress, randomToken, tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { pass } from '../config/attempt-limits.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { addressOf, linkMail } from '../mail/link.ts'
import { recipientMessage } from '../mail/messages.ts'
import { normalName, type User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { NameTaken, type Registration } from '../store/index.ts'
import { newPasswordField, passwordValues } from './password-change.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const emailField: Field = { name: 'email', text: 'register.email', type: 'email', autocomplete: 'email' }
const nameField: Field = { name: 'name', text: 'register.name', type: 'text', autocomplete: 'name' }
const longestName = 200

/**
 * GET and POST /register: mails a link to the address, and asks for nothing else: whoever opens the link chooses name and
 * password. An address that has an account gets the same answer, and a mail that says so.
 */
export function registerEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    if (!parts.features.registration) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    const parameters = pageParameters(request)
    const value = request.method === 'GET' ? undefined : parameters.get('email')
    const form: FormPage = {
      key: 'register',
      action: '/register',
      back: signInNext,
      formToken: formToken(parts, browser),
      fields: [{ ...emailField, value }],
    }
    if (request.method === 'GET') return sendPage(parts, reply, texts, formPage(texts, form))
    checkForm(parts, request, browser, parameters)
    const email = normalName(value ?? '')
    if (!isEmailAddress(email)) {
      const wrong = { wrong: 'register.email.wrong', wrongField: 'email' }
      return sendPage(parts, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    await pass(parts.limit, [
      ['registration', { address: request.ip }],
      ['registration-account', { account: email }],
    ])
    // The answer does not wait for it: how long it takes would tell whether there is an account.
    void sendMail(parts, email).catch((error) => request.log.error({ err: error }, 'a registration mail was not sent'))
    return sendPage(parts, reply, texts, messagePage(texts, 'register.done', { values: { email } }))
  }
}

async function sendMail(parts: Parts, email: string): Promise<void> {
  const user = await parts.store.users.findByLogin(email)
  if (user === undefined) await sendLink(parts, email)
  else if (user.email?.toLowerCase() === email) await sendReminder(parts, { ...user, email: user.email })
}

async function sendLink(parts: Parts, email: string): Promise<void> {
  const token = randomToken()
  const lifeSeconds = parts.lifetimes.verifyLink
  const userId = randomUUIDv7()
  const expiresAt = parts.clock.now() + lifeSeconds * 1000
  const path = `/register/confirm?token=${token}`
  await parts.store.registrations.put({ hash: tokenHash(token), userId, email, expiresAt }, [
    linkMail(parts, { kind: 'registration', to: { userId, email }, name: email, path, lifeSeconds }),
  ])
  parts.wakeOutbox()
}

/** Somebody, perhaps the owner, wants an account for an address that has one. */
async function sendReminder(parts: Parts, user: User & { readonly email: string }): Promise<void> {
  const lifeSeconds = parts.lifetimes.verifyLink
  const name = typeof user.claims.name === 'string' ? user.claims.name : user.username
  const mail = { kind: 'accountExists', to: addressOf(user), name, path: '/account', lifeSeconds } as const
  await parts.store.outbox.put([linkMail(parts, mail)])
  parts.wakeOutbox()
}

/** GET and POST /register/confirm: whoever opened the mail chooses name and password; the account begins. */
export function confirmRegistrationEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    if (!parts.features.registration) throw new PageError(404, 'error.missing')
    const parameters = pageParameters(request)
    const token = parameters.get('token') ?? ''
    const registration = await parts.store.registrations.find(tokenHash(token), parts.clock.now())
    if (registration === undefined) throw linkUsed()
    const browser = await readBrowser(parts, request, reply)
    const texts = textsFor(parts, request)
    const posted = request.method === 'POST'
    const form: FormPage = {
      key: 'register.confirm',
      action: '/register/confirm',
      formToken: formToken(parts, browser),
      fields: [{ ...nameField, value: posted ? parameters.get('name') : undefined }, newPasswordField],
      hidden: { token },
      values: { email: registration.email, ...passwordValues(parts) },
    }
    if (!posted) return sendPage(parts, reply, texts, formPage(texts, form))
    checkForm(parts, request, browser, parameters)
    const password = parameters.get('new_password') ?? ''
    const fault = parts.passwordRule.faultOf(password, registration)
    if (fault !== undefined) {
      const wrong = { wrong: `password.${fault}`, wrongField: 'new_password' }
      return sendPage(parts, reply, texts, formPage(texts, { ...form, ...wrong }))
    }
    await begin(parts, registration, nameOf(parameters, registration), await parts.passwords.hash(password))
    await audit(parts, request, 'user_registered', { actor: registration.userId, subject: registration.userId })
    return sendPage(parts, reply, texts, messagePage(texts, 'register.confirmed', { next: signInNext }))
  }
}

function nameOf(parameters: Parameters, { email }: Registration): string {
  return (parameters.get('name')?.trim() || email).slice(0, longestName)
}

async function begin(
  parts: Parts,
  { hash, userId, email }: Registration,
  name: string,
  passwordHash: string,
): Promise<void> {
  const user = {
    id: userId,
    username: email,
    plan: parts.defaultPlan,
    email,
    emailVerified: true,
    roles: [],
    claims: { name },
    passwordHash,
  }
  const messages = [recipientMessage(parts, userId)]
  try {
    if (!(await parts.store.registrations.complete(hash, user, messages, parts.clock.now()))) throw linkUsed()
  } catch (error) {
    throw error instanceof NameTaken ? linkUsed() : error
  }
  parts.wakeOutbox()
}

function linkUsed(): PageError {
  return new PageError(400, 'reset.over', {}, { href: '/register', text: 'login.register' })
}
