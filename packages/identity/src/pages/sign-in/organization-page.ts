import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The content of the page where a user chooses an organization. */
export interface OrganizationPage {
  /** The path of the form. */
  readonly action: string
  readonly formToken: string
  readonly continuation: string
  readonly client: string
  readonly user: string
  readonly organizations: readonly { readonly id: string; readonly name: string }[]
  readonly formTargets: readonly string[]
}

/** The page where a member of several organizations chooses one for this sign-in. */
export function organizationPage(texts: Texts, page: OrganizationPage): PageAnswer {
  const { client, user } = page
  const title = texts.say('organization.title')
  return {
    title,
    formTargets: page.formTargets,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('organization.lead', { client, user })}</p>
<form method="post" action="${page.action}">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="continuation" value="${page.continuation}">
<ul class="choices">${page.organizations.map(
      ({ id, name }) =>
        html`<li><button class="quiet" type="submit" name="organization" value="${id}">${name}</button></li>`,
    )}</ul>
</form>`,
  }
}
