import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { passkeyForm, passkeyScript } from '../passkeys/form.ts'

/** The content of the page that asks for a second factor. */
export interface FactorPage {
  readonly formToken: string
  readonly continuation: string
  /** The sealed sign-in that the factor completes. */
  readonly pending: string
  /** Whether the user has an authenticator app. */
  readonly hasApp: boolean
  /** Whether the user has a passkey, which completes the sign-in too. */
  readonly hasPasskey: boolean
  /** Whether the device may be remembered. */
  readonly mayRemember: boolean
  /** The fault, as text. */
  readonly wrong?: string | undefined
  readonly status?: number
  readonly formTargets?: readonly string[]
}

/** The page that asks for a second factor: the code of the app, or a recovery code. */
export function factorPage(texts: Texts, page: FactorPage): PageAnswer {
  const title = texts.say('factor.title')
  return {
    title,
    status: page.status ?? 200,
    formTargets: page.formTargets ?? [],
    ...(page.hasPasskey ? { script: passkeyScript } : {}),
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say(leadOf(page))}</p>
${page.wrong !== undefined && html`<p class="note wrong" id="wrong" role="alert">${page.wrong}</p>`}
${page.hasApp && appForm(texts, page)}
${page.hasPasskey && passkeySignIn(texts, page)}
${page.hasApp || page.hasPasskey ? html`<details class="more"><summary>${texts.say(page.hasApp ? 'factor.lost' : 'factor.lost.passkey')}</summary>${recoveryForm(texts, page)}</details>` : recoveryForm(texts, page)}`,
  }
}

function leadOf({ hasApp, hasPasskey }: FactorPage): string {
  if (hasApp) return 'factor.lead'
  return hasPasskey ? 'factor.lead.passkey' : 'factor.lead.recovery'
}

/** Completes the sign-in by a passkey, which is two factors in one. */
function passkeySignIn(texts: Texts, { formToken, continuation, pending, hasApp }: FactorPage): Html {
  return passkeyForm(texts, {
    action: '/login/passkey',
    formToken,
    ceremony: 'get',
    options: '/login/passkey/options',
    hidden: { continuation, pending },
    submit: 'login.passkey',
    quiet: hasApp,
  })
}

function appForm(texts: Texts, page: FactorPage): Html {
  return html`<form method="post" action="/login/factor">
${hiddenFields(page)}
<label for="code">${texts.say('factor.code')}</label>
<input class="code" id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required autofocus${page.wrong !== undefined && html` aria-invalid="true" aria-describedby="wrong"`}>
${page.mayRemember && html`<p class="soft remember"><label class="check"><input type="checkbox" name="remember" value="yes">${texts.say('factor.remember')}</label></p>`}
<div class="actions"><button type="submit">${texts.say('factor.submit')}</button></div>
</form>`
}

function recoveryForm(texts: Texts, page: FactorPage): Html {
  return html`<form method="post" action="/login/factor">
${hiddenFields(page)}
<label for="recovery_code">${texts.say('factor.recovery')}</label>
<input id="recovery_code" name="recovery_code" type="text" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="64" required>
<div class="actions"><button class="quiet" type="submit">${texts.say('factor.recovery.submit')}</button></div>
</form>`
}

function hiddenFields({ formToken, continuation, pending }: FactorPage): Html {
  return html`<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="continuation" value="${continuation}">
<input type="hidden" name="pending" value="${pending}">`
}
