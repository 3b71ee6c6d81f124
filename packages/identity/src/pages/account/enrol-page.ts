import { Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { renderSVG } from 'uqr'

/** The content of the page that sets up an authenticator app. */
export interface EnrolPage {
  readonly action: string
  readonly formToken: string
  /** The sealed secret. */
  readonly enrolment: string
  /** The address in the QR code. */
  readonly uri: string
  /** The secret as text, for apps that can't scan. */
  readonly secret: string
  readonly hidden?: Readonly<Record<string, string>>
  /** Whether the sign-in does not end without it. */
  readonly isRequired?: boolean
  /** The fault, as text. */
  readonly wrong?: string | undefined
  readonly status?: number
  readonly formTargets?: readonly string[]
}

/** The page that sets up an authenticator app: the QR code and the form for the code that proves it. */
export function enrolPage(texts: Texts, page: EnrolPage): PageAnswer {
  const title = texts.say('enrol.title')
  const groups = page.secret.match(/.{1,4}/g) ?? []
  return {
    title,
    status: page.status ?? 200,
    formTargets: page.formTargets ?? [],
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say(page.isRequired ? 'enrol.lead.required' : 'enrol.lead')}</p>
${page.wrong !== undefined && html`<p class="note wrong" id="wrong" role="alert">${page.wrong}</p>`}
<div class="qr" role="img" aria-label="${texts.say('enrol.qr')}">${new Html(renderSVG(page.uri, { border: 3 }))}</div>
<p class="soft">${texts.say('enrol.manual')}<br><code class="secret">${groups.join(' ')}</code></p>
<form method="post" action="${page.action}">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="enrolment" value="${page.enrolment}">
${Object.entries(page.hidden ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label for="code">${texts.say('enrol.code')}</label>
<input class="code" id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required${page.wrong !== undefined && html` aria-invalid="true" aria-describedby="wrong" autofocus`}>
<div class="actions"><button type="submit">${texts.say('enrol.submit')}</button></div>
</form>
${page.isRequired !== true && html`<p class="links"><a href="/account/factors">${texts.say('back')}</a></p>`}`,
  }
}
