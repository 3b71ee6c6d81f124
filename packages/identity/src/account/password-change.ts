import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { AccountContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { maxPasswordLength } from '../passwords/rule.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import { requireSignIn } from '../sessions/require-sign-in.ts'
import { recordPasswordAttempt, refundPasswordAttempt } from './current-password.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export const newPasswordField: Field = {
  name: 'new_password',
  text: 'password.new',
  type: 'password',
  autocomplete: 'new-password',
  hint: 'password.hint',
}

/** What the words about a new password name. */
export function passwordValues({
  passwordPolicy: passwordRule,
}: Pick<AccountContext, 'passwordPolicy'>): Readonly<Record<string, string>> {
  return { min: String(passwordRule.minLength), max: String(maxPasswordLength) }
}

const fields: readonly Field[] = [
  { name: 'old_password', text: 'password.old', type: 'password', autocomplete: 'current-password' },
  newPasswordField,
]

const accountNext: NextStep = { href: '/account', text: 'back' }

/** GET and POST /account/password: a new password, after the old one; all else that was signed in is signed out. */
export function changePasswordEndpoint(context: AccountContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    if (browser.signedIn === undefined) return requireSignIn(context, request, reply, browser, '/account')
    const { user, session } = browser.signedIn
    const texts = textsFor(context, request)
    const sendForm = (wrong?: string, wrongField?: string) => {
      const form = {
        key: 'password',
        action: '/account/password',
        fields,
        wrong,
        wrongField,
        values: passwordValues(context),
        back: accountNext,
      }
      return sendPage(context, reply, texts, formPage(texts, { ...form, formToken: formToken(context, browser) }))
    }
    if (request.method === 'GET') return sendForm()
    const parameters = pageParameters(request)
    checkForm(context, request, browser, parameters)
    await recordPasswordAttempt(context, user.id, request.ip)
    if (!(await context.passwords.verify(parameters.get('old_password') ?? '', user.passwordHash))) {
      await audit(context, request, 'login_failed', { subject: user.id, details: { at: 'password change' } })
      return sendForm('password.wrong', 'old_password')
    }
    await refundPasswordAttempt(context, user.id)
    const password = parameters.get('new_password') ?? ''
    const fault = context.passwordPolicy.findFault(password, user)
    if (fault !== undefined) return sendForm(`password.${fault}`, 'new_password')
    const hash = await context.passwords.hash(password)
    const change = {
      userId: user.id,
      hash,
      verified: user.credentialVersion,
      keepSession: session.id,
      endApiKeys: false,
    }
    if (!(await context.store.accounts.setPassword(change, signOutOptions(context))))
      throw new PageError(400, 'error.stale')
    context.signalOutbox()
    await audit(context, request, 'password_changed', { actor: user.id, subject: user.id })
    return sendPage(context, reply, texts, messagePage(texts, 'password.done', { next: accountNext }))
  }
}
