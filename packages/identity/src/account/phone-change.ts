import { maskPhoneNumber, tokenHash } from '@gatehouse/kit'
import { sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { createNotices } from '../mail/notices.ts'
import { createPhoneCode } from '../mail/phone-code.ts'
import { createCode, hashCode, parseCode } from '../model/factors/mailed-code.ts'
import { parsePhoneNumber, rangeOf } from '../model/factors/phone-number.ts'
import type { User } from '../model/user.ts'
import { messagePage } from '../pages/error-page.ts'
import { codeField, type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const phoneField: Field = { name: 'phone_number', text: 'phone.number', type: 'tel', autocomplete: 'tel' }
const accountNext: NextStep = { href: '/account', text: 'back' }

/**
 * GET and POST /account/phone: sends a code to a new number by SMS, or removes the number. Each code costs the operator
 * money, and whoever owns a range of numbers may be paid for it: codes are limited by user, number and range.
 */
export function changePhoneEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    if (!context.sms) throw new PageError(404, 'error.missing')
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/phone')
    if ('sent' in recent) return recent.sent
    const { user } = recent.signedIn
    const texts = textsFor(context, request)
    const present = phoneNumberOf(user)
    const isRemovable = present !== undefined
    const value = request.method === 'POST' ? (parameters.get('phone_number') ?? '') : (present ?? '')
    const hint = isRemovable ? 'phone.hint.remove' : 'phone.hint'
    const form: FormPage = {
      key: 'phone',
      action: '/account/phone',
      formToken: formToken(context, browser),
      fields: [{ ...phoneField, value: value || undefined, hint, isOptional: isRemovable }],
      back: accountNext,
    }
    if (request.method === 'GET') return sendPage(context, reply, texts, formPage(texts, form))
    if (value === '' && isRemovable) {
      await removeNumber(context, request, user)
      return sendPage(context, reply, texts, messagePage(texts, 'phone.removed', { next: accountNext }))
    }
    const phoneNumber = parsePhoneNumber(value)
    const fault = findFault(user, phoneNumber)
    if (phoneNumber === undefined || fault !== undefined)
      return sendPage(context, reply, texts, formPage(texts, { ...form, wrong: fault, wrongField: 'phone_number' }))
    const challenge = await sendCode(context, request, { browser, signedIn: recent.signedIn, phoneNumber })
    return sendPage(context, reply, texts, codePage(context, texts, { phoneNumber, browser, challenge }))
  }
}

function phoneNumberOf({ claims }: User): string | undefined {
  return typeof claims.phone_number === 'string' ? claims.phone_number : undefined
}

function findFault(user: User, phoneNumber: string | undefined): string | undefined {
  if (phoneNumber === undefined) return 'phone.wrong'
  const isProven = user.claims.phone_number_verified === true
  return isProven && phoneNumberOf(user) === phoneNumber ? 'phone.same' : undefined
}

async function removeNumber(context: AccountContext, request: FastifyRequest, user: User): Promise<void> {
  const notices = createNotices(context, { user, kind: 'phone_changed', request, facts: { phone: '' } })
  const messages = [createRecipientMessage(context, user.id), ...notices]
  if (!(await context.store.phoneChanges.clear(user.id, messages, context.clock.now()))) return
  context.signalOutbox()
  await audit(context, request, 'phone_removed', { actor: user.id, subject: user.id })
}

type SignedIn = NonNullable<Browser['signedIn']>

interface RequestedChange {
  readonly browser: Browser
  readonly signedIn: SignedIn
  readonly phoneNumber: string
}

/** Binds a code to the browser and its session: a cookie that was stolen later is of no use for it. */
function bindingOf({ id }: Browser, { session }: SignedIn): string {
  return tokenHash(`${id} ${session.id}`)
}

/** Sends a code, and returns the challenge that goes with it. @throws PageError 429 after too many of them */
async function sendCode(
  context: AccountContext,
  request: FastifyRequest,
  { browser, signedIn, phoneNumber }: RequestedChange,
): Promise<string> {
  const { user } = signedIn
  const account = user.id
  await enforceLimits(context.limit, [
    ['phone-code', { account }],
    ['phone-code-day', { account }],
    ['phone-code-address', { address: request.ip }],
    ['phone-code-number', { number: phoneNumber }],
    ['phone-code-range', { range: rangeOf(phoneNumber) }],
  ])
  const code = createCode()
  const lifeSeconds = context.lifetimes.emailCode
  const change = {
    userId: user.id,
    phoneNumber,
    browserHash: bindingOf(browser, signedIn),
    challengeHash: tokenHash(code.challenge),
    codeHash: hashCode(code),
    expiresAt: context.clock.now() + lifeSeconds * 1000,
  }
  const message = createPhoneCode(context, { user, phoneNumber, code: code.code, lifeSeconds })
  await context.store.phoneChanges.put(change, [message])
  context.signalOutbox()
  return code.challenge
}

interface BegunChange {
  readonly phoneNumber: string
  readonly browser: Browser
  readonly challenge: string
}

function codePage(context: AccountContext, texts: Texts, begun: BegunChange, wrong?: string) {
  return formPage(texts, {
    key: 'phone.code',
    action: '/account/phone/confirm',
    formToken: formToken(context, begun.browser),
    hidden: { challenge: begun.challenge },
    fields: [codeField],
    values: { phone: begun.phoneNumber, minutes: String(Math.round(context.lifetimes.emailCode / 60)) },
    back: accountNext,
    ...(wrong === undefined ? {} : { wrong, wrongField: codeField.name }),
  })
}

/** POST /account/phone/confirm: sets the number, given the code that was sent to it. */
export function confirmPhoneEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    checkForm(context, request, browser, parameters)
    const { signedIn } = browser
    if (signedIn === undefined) throw expired()
    const { user } = signedIn
    const challenge = parameters.get('challenge') ?? ''
    const browserHash = bindingOf(browser, signedIn)
    const attempt = { userId: user.id, browserHash, challengeHash: tokenHash(challenge) }
    const now = context.clock.now()
    const phoneNumber = await context.store.phoneChanges.find(attempt, now)
    if (phoneNumber === undefined) throw expired()
    const texts = textsFor(context, request)
    const wrongPage = () =>
      sendPage(context, reply, texts, codePage(context, texts, { phoneNumber, browser, challenge }, 'code.wrong'))
    const code = parseCode(parameters.get('code') ?? '')
    if (code === undefined) return wrongPage()
    await enforceLimits(context.limit, [
      ['phone-code-entry', { account: user.id }],
      ['phone-code-entry-day', { account: user.id }],
    ])
    const codeHash = hashCode({ challenge, code })
    const facts = { phone: maskPhoneNumber(phoneNumber) }
    const notices = createNotices(context, { user, kind: 'phone_changed', request, facts })
    const messages = [createRecipientMessage(context, user.id), ...notices]
    const result = await context.store.phoneChanges.complete({ ...attempt, codeHash }, messages, now)
    if (result === 'wrong') return wrongPage()
    context.signalOutbox()
    await audit(context, request, 'phone_changed', { actor: user.id, subject: user.id })
    const values = { phone: phoneNumber }
    return sendPage(context, reply, texts, messagePage(texts, 'phone.done', { values, next: accountNext }))
  }
}

function expired(): PageError {
  return new PageError(400, 'code.expired', {}, { href: '/account/phone', text: 'phone.title' })
}
