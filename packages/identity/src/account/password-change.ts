import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { messagePage } from '../pages/error-page.ts'
import { type Field, formPage } from '../pages/form-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { longestPassword } from '../passwords/rule.ts'
import { checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { endOfUser } from '../sessions/end-session.ts'
import { signInFirst } from '../sessions/require-sign-in.ts'
import { countOldPassword, forgetOldPassword } from './current-password.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export const newPasswordField: Field = {
  name: 'new_password',
  text: 'password.new',
  type: 'password',
  autocomplete: 'new-password',
  hint: 'password.hint',
}

/** What the words about a new password name. */
export function passwordValues({ passwordRule }: Pick<Parts, 'passwordRule'>): Readonly<Record<string, string>> {
  return { min: String(passwordRule.minLength), max: String(longestPassword) }
}

const fields: readonly Field[] = [
  { name: 'old_password', text: 'password.old', type: 'password', autocomplete: 'current-password' },
  newPasswordField,
]

const home: NextStep = { href: '/account', text: 'back' }

/** GET and POST /account/password: a new password, after the old one; all else that was signed in is signed out. */
export function changePasswordEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(parts, request, reply)
    if (browser.signedIn === undefined) return signInFirst(parts, request, reply, browser, '/account')
    const { user, session } = browser.signedIn
    const texts = textsFor(parts, request)
    const ask = (wrong?: string, wrongField?: string) => {
      const form = {
        key: 'password',
        action: '/account/password',
        fields,
        wrong,
        wrongField,
        values: passwordValues(parts),
        back: home,
      }
      return sendPage(parts, reply, texts, formPage(texts, { ...form, formToken: formToken(parts, browser) }))
    }
    if (request.method === 'GET') return ask()
    const parameters = pageParameters(request)
    checkForm(parts, request, browser, parameters)
    await countOldPassword(parts, user.id, request.ip)
    if (!(await parts.passwords.matches(parameters.get('old_password') ?? '', user.passwordHash))) {
      await audit(parts, request, 'login_failed', { subject: user.id, details: { at: 'password change' } })
      return ask('password.wrong', 'old_password')
    }
    await forgetOldPassword(parts, user.id)
    const password = parameters.get('new_password') ?? ''
    const fault = parts.passwordRule.faultOf(password, user)
    if (fault !== undefined) return ask(`password.${fault}`, 'new_password')
    const hash = await parts.passwords.hash(password)
    const change = {
      userId: user.id,
      hash,
      verified: user.credentialVersion,
      keepSession: session.id,
      endApiKeys: false,
    }
    if (!(await parts.store.accounts.setPassword(change, endOfUser(parts)))) throw new PageError(400, 'error.stale')
    parts.wakeOutbox()
    await audit(parts, request, 'password_changed', { actor: user.id, subject: user.id })
    return sendPage(parts, reply, texts, messagePage(texts, 'password.done', { next: home }))
  }
}
