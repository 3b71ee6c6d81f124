import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { type FormPage, formPage } from '../form-page.ts'
import { passkeyForm, passkeyScript } from './form.ts'

/**
 * The page that creates an account: the form for a password and, with `options` for `navigator.credentials.create`, a
 * passkey in place of it.
 */
export function registrationPage(texts: Texts, form: FormPage, options: object | undefined): PageAnswer {
  const page = formPage(texts, form)
  if (options === undefined) return page
  const { action, formToken, hidden = {} } = form
  const passkey = { action, formToken, hidden, ceremony: 'create', options } as const
  return {
    ...page,
    script: passkeyScript,
    body: html`${page.body}
${passkeyForm(texts, { ...passkey, copied: ['name'], lead: 'register.passkey.lead', submit: 'register.passkey.submit', quiet: true })}`,
  }
}
