import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createNotices } from '../mail/notices.ts'
import type { User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, type FormPage, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { maxPasswordLength } from '../passwords/rule.ts'
import { checkForm, formToken, keepKnownDevice, readBrowser, setSessionCookie } from '../sessions/browser.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { type KeptWithCookie, keepWithNewCookie } from '../sessions/kept-session.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { sendSignInPage } from '../sessions/sign-in-page.ts'
import { recordPasswordAttempt, refundPasswordAttempt } from './current-password.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The field for a new password. */
export const newPasswordField: Field = {
  name: 'new_password',
  text: 'password.new',
  type: 'password',
  autocomplete: 'new-password',
  hint: 'password.hint',
}

/** The values in the texts about a new password. */
export function passwordValues({
  passwordPolicy,
}: Pick<AccountContext, 'passwordPolicy'>): Readonly<Record<string, string>> {
  return { min: String(passwordPolicy.minLength), max: String(maxPasswordLength) }
}

const fields: readonly Field[] = [
  { name: 'old_password', text: 'password.old', type: 'password', autocomplete: 'current-password' },
  newPasswordField,
]

const accountNext: NextStep = { href: '/account', text: 'back' }

/**
 * GET and POST /account/password: sets a new password, given the old one; other sessions end. A user without one signed
 * in a moment ago instead, as for every change of how a user signs in.
 */
export function changePasswordEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const exchange = { request, reply, browser }
    const { signedIn } = browser
    if (signedIn === undefined) return sendSignInPage(context, exchange, '/account')
    const parameters = pageParameters(request)
    if (request.method === 'POST') checkForm(context, request, browser, parameters)
    const isFirst = signedIn.user.passwordHash === undefined
    const recent = isFirst ? requireRecentSignIn(context, exchange, '/account/password') : { signedIn }
    if ('sent' in recent) return recent.sent
    const texts = textsFor(context, request)
    const form: FormPage = {
      key: isFirst ? 'password.first' : 'password',
      action: '/account/password',
      fields: isFirst ? [newPasswordField] : fields,
      values: passwordValues(context),
      back: accountNext,
      formToken: formToken(context, browser),
    }
    if (request.method === 'GET') return sendPage(context, reply, texts, formPage(texts, form))
    const { keepSession, secret } = keepWithNewCookie(signedIn.session)
    const change = { user: signedIn.user, keepSession }
    const fault = await changePassword(context, request, change, parameters)
    if (fault !== undefined) return sendPage(context, reply, texts, formPage(texts, { ...form, ...fault }))
    setSessionCookie(context, reply, secret)
    const changed = await context.store.users.find(signedIn.user.id)
    if (changed !== undefined) keepKnownDevice(context, reply, changed)
    return sendPage(context, reply, texts, messagePage(texts, 'password.done', { next: accountNext }))
  }
}

/**
 * Changes the password when the old one, if there is one, is correct and the new one acceptable.
 * @returns the fault of a field, or undefined when the password was changed
 * @throws PageError 400 when the account changed meanwhile, 429 after too many attempts
 */
async function changePassword(
  context: AccountContext,
  request: FastifyRequest,
  { user, keepSession }: Pick<KeptWithCookie, 'keepSession'> & { readonly user: User },
  parameters: Parameters,
): Promise<Pick<FormPage, 'wrong' | 'wrongField'> | undefined> {
  const isFirst = user.passwordHash === undefined
  if (!isFirst && !(await verifyOldPassword(context, request, user, parameters.get('old_password') ?? '')))
    return { wrong: 'password.wrong', wrongField: 'old_password' }
  const password = parameters.get('new_password') ?? ''
  const fault = context.passwordPolicy.findFault(password, user)
  if (fault !== undefined) return { wrong: `password.${fault}`, wrongField: 'new_password' }
  const hash = await context.passwords.hash(password)
  const verified = user.credentialVersion
  const added = { user, kind: 'factor_added', request, facts: { factor: 'password' } } as const
  const messages = createNotices(context, isFirst ? added : { user, kind: 'password_changed', request })
  const change = { userId: user.id, hash, verified, keepSession, endApiKeys: false, messages }
  if (!(await context.store.accounts.setPassword(change, signOutOptions(context))))
    throw new PageError(400, 'error.stale')
  context.signalOutbox()
  await audit(context, request, 'password_changed', { actor: user.id, subject: user.id })
  return undefined
}

/** @throws PageError 429 after too many attempts */
async function verifyOldPassword(
  context: AccountContext,
  request: FastifyRequest,
  { id, passwordHash }: User,
  password: string,
): Promise<boolean> {
  await recordPasswordAttempt(context, id, request.ip)
  if (!(await context.passwords.verify(password, passwordHash))) {
    await audit(context, request, 'login_failed', { subject: id, details: { at: 'password change' } })
    return false
  }
  await refundPasswordAttempt(context, id)
  return true
}
