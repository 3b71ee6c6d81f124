import { isEmailAddress, randomToken, tokenHash } from '@gatehouse/kit'
import { sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { enforceLimits } from '../config/attempt-limits.ts'
import { findRequiredConnection } from '../connections/home.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createLinkMail, mailAddress } from '../mail/link.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { createNotices } from '../mail/notices.ts'
import { createCode, hashCode, parseCode } from '../model/factors/mailed-code.ts'
import { normalizeName, type User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { codeField, type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const emailField: Field = { name: 'email', text: 'email.new', type: 'email', autocomplete: 'email' }
const accountNext: NextStep = { href: '/account', text: 'back' }

/**
 * GET and POST /account/email: mails a code to the new address, or to the present one that is not verified. The page is
 * the same for an address that has an account.
 */
export function changeEmailEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    if (!context.mail) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/email')
    if ('sent' in recent) return recent.sent
    const { user } = recent.signedIn
    const texts = textsFor(context, request)
    // Another address would open other ways to sign in.
    if ((await findRequiredConnection(context, user.email)) !== undefined)
      return sendPage(context, reply, texts, {
        ...messagePage(texts, 'email.managed', { next: accountNext }),
        status: 403,
      })
    const value = request.method === 'POST' ? parameters.get('email') : unverifiedEmail(user)
    const form: FormPage = {
      key: 'email',
      action: '/account/email',
      formToken: formToken(context, browser),
      fields: [{ ...emailField, value }],
      back: accountNext,
    }
    if (request.method === 'GET') return sendPage(context, reply, texts, formPage(texts, form))
    const email = normalizeName(value ?? '')
    const fault = findFault(user, email)
    if (fault !== undefined)
      return sendPage(context, reply, texts, formPage(texts, { ...form, wrong: fault, wrongField: 'email' }))
    await enforceLimits(context.limit, [
      ['email-code', { account: user.id, address: request.ip }],
      ['email-code-account', { account: user.id }],
    ])
    const challenge = randomToken()
    // The page does not wait for the mail: its duration would reveal whether there is an account.
    void sendCode(context, request, user, { email, browser, challenge }).catch((error) =>
      request.log.error({ err: error }, 'a code could not be sent'),
    )
    return sendPage(context, reply, texts, codePage(context, texts, { browser, challenge, email }))
  }
}

function unverifiedEmail({ email, emailVerified }: User): string | undefined {
  return emailVerified ? undefined : email
}

function findFault(user: User, email: string): string | undefined {
  if (!isEmailAddress(email)) return 'register.email.wrong'
  return user.emailVerified && user.email?.toLowerCase() === email ? 'email.same' : undefined
}

interface BegunChange {
  readonly email: string
  readonly browser: Browser
  readonly challenge: string
}

/** Mails the code. The owner of another account with this address learns of the attempt, and the code goes to nobody. */
async function sendCode(
  context: AccountContext,
  request: FastifyRequest,
  user: User,
  { email, browser, challenge }: BegunChange,
): Promise<void> {
  const code = { ...createCode(), challenge }
  const lifeSeconds = context.lifetimes.emailCode
  const holder = await context.store.users.findByLogin(email)
  const isFree = holder === undefined || holder.id === user.id || holder.email?.toLowerCase() !== email
  const name = typeof user.claims.name === 'string' ? user.claims.name : user.username
  const to = mailAddress({ ...user, email })
  const mail = { kind: 'emailCode', to, name, path: '/account/email', lifeSeconds, code: code.code } as const
  const messages = isFree
    ? [createLinkMail(context, mail)]
    : createNotices(context, { user: holder, kind: 'account_exists', request })
  const change = {
    userId: user.id,
    previousEmail: user.email,
    credentialVersion: user.credentialVersion,
    email,
    browserHash: tokenHash(browser.id),
    challengeHash: tokenHash(challenge),
    codeHash: isFree ? hashCode(code) : tokenHash(randomToken()),
    expiresAt: context.clock.now() + lifeSeconds * 1000,
  }
  await context.store.emailChanges.put(change, messages)
  context.signalOutbox()
}

function codePage(context: AccountContext, texts: Texts, begun: BegunChange, wrong?: string) {
  return formPage(texts, {
    key: 'email.code',
    action: '/account/email/confirm',
    formToken: formToken(context, begun.browser),
    hidden: { challenge: begun.challenge },
    fields: [codeField],
    values: { email: begun.email, minutes: String(Math.round(context.lifetimes.emailCode / 60)) },
    back: accountNext,
    ...(wrong === undefined ? {} : { wrong, wrongField: codeField.name }),
  })
}

/** POST /account/email/confirm: changes the address, given the code that was mailed there. */
export function confirmEmailEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    checkForm(context, request, browser, parameters)
    const { signedIn } = browser
    if (signedIn === undefined) throw expired()
    const { user } = signedIn
    const challenge = parameters.get('challenge') ?? ''
    const attempt = { userId: user.id, browserHash: tokenHash(browser.id), challengeHash: tokenHash(challenge) }
    const now = context.clock.now()
    const email = await context.store.emailChanges.find(attempt, now)
    if (email === undefined) throw expired()
    const texts = textsFor(context, request)
    const wrongPage = () =>
      sendPage(context, reply, texts, codePage(context, texts, { email, browser, challenge }, 'code.wrong'))
    const code = parseCode(parameters.get('code') ?? '')
    if (code === undefined) return wrongPage()
    await enforceLimits(context.limit, [['email-code-entry', { account: user.id, address: request.ip }]])
    const codeHash = hashCode({ challenge, code })
    const messages = [createRecipientMessage(context, user.id), ...changeNotices(context, request, user, email)]
    const result = await context.store.emailChanges.complete({ ...attempt, codeHash }, messages, now)
    if (result === 'wrong') return wrongPage()
    if (result === 'in_use') throw new PageError(400, 'email.in_use', {}, accountNext)
    context.signalOutbox()
    await audit(context, request, isSame(user, email) ? 'email_verified' : 'email_changed', {
      actor: user.id,
      subject: user.id,
    })
    return sendPage(context, reply, texts, messagePage(texts, 'email.done', { values: { email }, next: accountNext }))
  }
}

function isSame(user: User, email: string): boolean {
  return user.email?.toLowerCase() === email
}

function changeNotices(context: AccountContext, request: FastifyRequest, user: User, email: string) {
  return isSame(user, email) ? [] : createNotices(context, { user, kind: 'email_changed', request, facts: { email } })
}

function expired(): PageError {
  return new PageError(400, 'code.expired', {}, { href: '/account/email', text: 'email.title' })
}
