import { isEmailAddress, randomToken, tokenHash } from '@gatehouse/kit'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { type AttemptLimitName, enforceLimits } from '../config/attempt-limits.ts'
import type { LoginContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { methodsOf } from '../model/authentication.ts'
import { hashCode, parseCode } from '../model/factors/mailed-code.ts'
import { isManagementRole } from '../model/management-roles.ts'
import { normalizeName, type User } from '../model/user.ts'
import { type Field, formPage } from '../pages/form-page.ts'
import { PageError, signInNext } from '../pages/page-error.ts'
import { formToken, isKnownDevice, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { finishSignIn } from '../sessions/finish-sign-in.ts'
import { answersOlderForm } from '../sessions/sign-in-form.ts'
import type { PendingCode } from '../store/index.ts'
import { codePage } from './code-page.ts'
import { mailSignInCode, refundProof } from './mailed-proof.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const emailField: Field = { name: 'email', text: 'register.email', type: 'email', autocomplete: 'username' }

/**
 * POST /login/code: asks for the address, and mails a code to it. The page and its duration are the same for an address
 * without an account.
 */
export function requestCodeEndpoint(context: LoginContext): Handler {
  return async (request, reply) => {
    if (!context.features.emailCode) throw new PageError(404, 'error.missing')
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    const value = parameters.get('email')
    if (await answersOlderForm(context, { request, reply, browser }, parameters, { name: value })) return reply
    const sealed = parameters.getRequired('continuation')
    const continuation = openContinuation(context, browser, sealed)
    const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
    const email = normalizeName(value ?? '')
    if (!isEmailAddress(email)) {
      const wrong = value === undefined ? {} : { wrong: 'register.email.wrong', wrongField: 'email' }
      const form = formPage(texts, {
        key: 'code.request',
        action: '/login/code',
        formToken: formToken(context, browser),
        hidden: { continuation: sealed },
        fields: [{ ...emailField, value }],
        back: { ...signInNext, text: 'code.back' },
        ...wrong,
      })
      return sendPage(context, reply, texts, form)
    }
    const found = await context.store.users.findByLogin(email)
    const owner = found?.email?.toLowerCase() === email ? found : undefined
    const account = owner?.id ?? email
    await countRequest(context, request, account, isKnownDevice(context, request, owner))
    const challenge = randomToken()
    // The page does not wait for the mail: its duration would reveal whether there is an account.
    const begun = { browser, continuation: sealed, challenge, name: email, account, amr: methodsOf.email }
    void mailSignInCode(context, request, mayUseCode(owner) ? owner : undefined, begun).catch((error) =>
      request.log.error({ err: error }, 'a sign-in code could not be sent'),
    )
    return sendPage(context, reply, texts, codePage(context, texts, { ...begun, target: continuation.target }))
  }
}

/**
 * Not by mail for administrators, as with a reset of the password; nor to an address that nobody verified: a reset, which
 * ends what others added to the account, is the way of its owner.
 */
function mayUseCode(user: User | undefined): boolean {
  return user?.emailVerified === true && user.lockedAt === undefined && !user.roles.some(isManagementRole)
}

/** @throws PageError 429 */
function countRequest({ limit }: LoginContext, { ip: address }: FastifyRequest, account: string, isKnown: boolean) {
  return enforceLimits(limit, [
    ['email-code', { account, address }],
    ...(isKnown ? [] : ([['email-code-account', { account }] as const, ['email-code-address', { address }]] as const)),
  ])
}

/** POST /login/code/confirm: completes a sign-in with the code that was mailed. */
export function enterCodeEndpoint(context: LoginContext): Handler {
  return async (request, reply) => {
    if (!context.features.emailCode) throw new PageError(404, 'error.missing')
    const parameters = pageParameters(request)
    const browser = await readBrowser(context, request, reply)
    const challenge = parameters.get('challenge') ?? ''
    const hashes = { challengeHash: tokenHash(challenge), browserHash: tokenHash(browser.id) }
    const now = context.clock.now()
    const name = parameters.get('name') ?? ''
    if (await answersOlderForm(context, { request, reply, browser }, parameters, { name })) return reply
    const sealed = parameters.getRequired('continuation')
    const continuation = openContinuation(context, browser, sealed)
    const pending = await context.store.signInLinks.findCode(hashes.challengeHash, hashes.browserHash, now)
    if (pending === undefined) throw expiredCode()
    const texts = textsFor(context, request, String(continuation.request.ui_locales ?? ''))
    const page = { browser, challenge, name, continuation: sealed, target: continuation.target, wrong: 'code.wrong' }
    const wrongPage = () => sendPage(context, reply, texts, codePage(context, texts, page))
    const code = parseCode(parameters.get('code') ?? '')
    if (code === undefined) return wrongPage()
    const attempt = entryLimits(context, request, pending)
    await enforceLimits(context.limit, attempt)
    const codeHash = hashCode({ challenge, code })
    const used = await context.store.signInLinks.consumeCode({ ...hashes, codeHash }, now)
    if (used === 'wrong') {
      await audit(context, request, 'login_failed', { subject: pending.user?.id, details: { at: 'email code' } })
      context.metrics.signIn('wrong', 'email')
      return wrongPage()
    }
    const refund = async () => {
      await refundProof(context, request, used)
      for (const [policy, identifiers] of attempt) await context.refund(policy, identifiers)
    }
    const proven = { user: used.user, amr: used.amr, details: { confirmed: 'code' }, refund }
    if (!(await finishSignIn(context, { request, reply, browser }, proven, sealed))) throw expiredCode()
    return reply
  }
}

/** Attempts at a code count by account too, but not from known devices: nobody may lock the owner out. */
function entryLimits(context: LoginContext, request: FastifyRequest, { account, user }: PendingCode) {
  const address = request.ip
  const limits: (readonly [AttemptLimitName, Readonly<Record<string, string>>])[] = [
    ['email-code-entry', { account, address }],
  ]
  if (isKnownDevice(context, request, user)) return limits
  limits.push(['email-code-entry-address', { address }], ['email-code-entry-account', { account }])
  return limits
}

function expiredCode(): PageError {
  return new PageError(400, 'code.expired', {}, signInNext)
}
