import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The content of the page about a user's organizations. */
export interface MembershipsPage {
  readonly formToken: string
  readonly user: string
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly roles: readonly string[] }[]
  /** The key of the fault of what was sent. */
  readonly wrong?: string | undefined
}

/** The page with the organizations of a user, each of which can be left. */
export function membershipsPage(texts: Texts, page: MembershipsPage): PageAnswer {
  const title = texts.say('organizations.title')
  return {
    title,
    wide: true,
    status: page.wrong === undefined ? 200 : 400,
    body: html`<h1>${title}</h1>
<p class="lead">${page.user}</p>
${page.wrong !== undefined && html`<p class="note wrong" role="alert">${texts.say(page.wrong)}</p>`}
${page.organizations.length === 0 && html`<p class="soft">${texts.say('organizations.none')}</p>`}
<ul class="rows">${page.organizations.map(
      ({ id, name, roles }) => html`<li><div><strong>${name}</strong>
<span class="soft">${roles.length === 0 ? texts.say('organizations.member') : roles.join(' · ')}</span></div>
<form method="post" action="/account/organizations">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="organization" value="${id}">
<button class="quiet small" type="submit" aria-label="${texts.say('organizations.leave.label', { organization: name })}">${texts.say('organizations.leave')}</button>
</form></li>`,
    )}</ul>
<p class="links"><a href="/account">${texts.say('back')}</a></p>`,
  }
}
