import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { passkeyForm, passkeyScript } from '../passkeys/form.ts'

/** The content of the login page. */
export interface LoginPage {
  readonly formToken: string
  readonly continuation: string
  readonly client?: string | undefined
  readonly name?: string | undefined
  /** The fault, as text. */
  readonly wrong?: string | undefined
  readonly status?: number
  readonly mayReset: boolean
  readonly mayRegister: boolean
  /** Whether passkeys are offered: by a button, and in the autofill of the user name. */
  readonly passkeys: boolean
  /** The other identity providers that may sign in. */
  readonly providers: readonly { readonly id: string; readonly name: string }[]
  /** Whether the address that the user enters can lead to the provider of its domain. */
  readonly organizations: boolean
  /** Whether a code can be mailed in place of the password. */
  readonly mayUseCode: boolean
  readonly formTargets?: readonly string[]
}

/** The login page. */
export function loginPage(texts: Texts, page: LoginPage): PageAnswer {
  const title = texts.say('login.title')
  const { client, wrong, name } = page
  return {
    title,
    status: page.status ?? 200,
    formTargets: page.formTargets ?? [],
    ...(page.passkeys ? { script: passkeyScript } : {}),
    body: html`<h1>${title}</h1>
${client !== undefined && html`<p class="lead">${texts.say('login.lead', { client })}</p>`}
${wrong !== undefined && html`<p class="note wrong" role="alert">${wrong}</p>`}
<form method="post" action="/login">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="continuation" value="${page.continuation}">
<label for="username">${texts.say('login.name')}</label>
<input id="username" name="username" value="${name ?? ''}" autocomplete="username${page.passkeys && ' webauthn'}" autocapitalize="none" spellcheck="false" required${name === undefined && html` autofocus`}>
<label for="password">${texts.say('login.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password"${!page.organizations && html` required`}${name !== undefined && html` autofocus`}>
<div class="actions"><button type="submit">${texts.say('login.submit')}</button></div>
${page.organizations && organizationButton(texts)}
</form>
${page.passkeys && passkeySignIn(texts, page)}
${page.providers.length > 0 && providerForm(texts, page)}
${page.mayUseCode && codeForm(texts, page)}
${
  (page.mayReset || page.mayRegister) &&
  html`<p class="links">${page.mayReset && html`<a href="/password/forgot">${texts.say('login.forgot')}</a>`}${page.mayRegister && html`<a href="/register">${texts.say('login.register')}</a>`}</p>`
}`,
  }
}

/** Sends the name alone, to the page that looks for the provider of its domain. */
function organizationButton(texts: Texts): Html {
  return html`<div class="actions providers"><button class="quiet" type="submit" formaction="/login/organization" formnovalidate>${texts.say('login.organization')}</button></div>`
}

function passkeySignIn(texts: Texts, { formToken, continuation }: LoginPage): Html {
  return passkeyForm(texts, {
    action: '/login/passkey',
    formToken,
    ceremony: 'get',
    options: '/login/passkey/options',
    autofill: true,
    hidden: { continuation },
    submit: 'login.passkey',
    quiet: true,
  })
}

/** One button for each other identity provider. */
function providerForm(texts: Texts, { formToken, continuation, providers }: LoginPage): Html {
  return html`<p class="or">${texts.say('login.or')}</p>
<form method="post" action="/login/providers">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="continuation" value="${continuation}">
<div class="actions providers">${providers.map(
    ({ id, name }) =>
      html`<button class="quiet" type="submit" name="connection" value="${id}">${texts.say('login.provider', { provider: name })}</button>`,
  )}</div>
</form>`
}

/** The button that leads to the page which asks for the address of a code. */
function codeForm(texts: Texts, { formToken, continuation }: LoginPage): Html {
  return html`<form method="post" action="/login/code">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="continuation" value="${continuation}">
<div class="actions"><button class="quiet" type="submit">${texts.say('login.code')}</button></div>
</form>`
}
