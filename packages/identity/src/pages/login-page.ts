import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

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
    body: html`<h1>${title}</h1>
${client !== undefined && html`<p class="lead">${texts.say('login.lead', { client })}</p>`}
${wrong !== undefined && html`<p class="note wrong" role="alert">${wrong}</p>`}
<form method="post" action="/login">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="continuation" value="${page.continuation}">
<label for="username">${texts.say('login.name')}</label>
<input id="username" name="username" value="${name ?? ''}" autocomplete="username" autocapitalize="none" spellcheck="false" required${name === undefined && html` autofocus`}>
<label for="password">${texts.say('login.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${name !== undefined && html` autofocus`}>
<div class="actions"><button type="submit">${texts.say('login.submit')}</button></div>
</form>
${page.mayUseCode && codeForm(texts, page)}
${
  (page.mayReset || page.mayRegister) &&
  html`<p class="links">${page.mayReset && html`<a href="/password/forgot">${texts.say('login.forgot')}</a>`}${page.mayRegister && html`<a href="/register">${texts.say('login.register')}</a>`}</p>`
}`,
  }
}

/** The button that leads to the page which asks for the address of a code. */
function codeForm(texts: Texts, { formToken, continuation }: LoginPage): Html {
  return html`<form method="post" action="/login/code">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="continuation" value="${continuation}">
<div class="actions"><button class="quiet" type="submit">${texts.say('login.code')}</button></div>
</form>`
}
