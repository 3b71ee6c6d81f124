import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The content of the logout page. */
export interface LogoutPage {
  readonly formToken: string
  readonly user: string
  /** The parameters of the request, returned with the decision. */
  readonly fields: Readonly<Record<string, string>>
  readonly formTargets: readonly string[]
}

/** The page that asks whether to sign out. */
export function logoutPage(texts: Texts, page: LogoutPage): PageAnswer {
  const title = texts.say('logout.title')
  return {
    title,
    formTargets: page.formTargets,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('logout.lead', { user: page.user })}</p>
<form method="post" action="/end_session/confirm">
<input type="hidden" name="form_token" value="${page.formToken}">
${Object.entries(page.fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="actions">
<button class="quiet" type="submit" name="decision" value="stay">${texts.say('logout.stay')}</button>
<button type="submit" name="decision" value="leave">${texts.say('logout.submit')}</button>
</div>
</form>`,
  }
}
