import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { Access } from '../model/consent.ts'
import { accessList } from './scope-list.ts'

/** The content of the consent page. */
export interface ConsentPage {
  readonly formToken: string
  readonly continuation: string
  readonly client: string
  readonly user: string
  /** The access that the user decides about, without this server's own API. */
  readonly access: Access
  /** The host the browser will be sent to; undefined for a program on this device. */
  readonly host: string | undefined
  /** The name of the organization that the access is for. */
  readonly organization?: string | undefined
  readonly policyUri: string | undefined
  readonly tosUri: string | undefined
  readonly formTargets: readonly string[]
}

/** The consent page. */
export function consentPage(texts: Texts, page: ConsentPage): PageAnswer {
  const { client, user, host, policyUri, tosUri } = page
  const title = texts.say('consent.title', { client })
  return {
    title,
    formTargets: page.formTargets,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('consent.lead', { client, user })}</p>
${accessList(texts, page.access)}
${page.organization !== undefined && html`<p class="soft">${texts.say('consent.organization', { organization: page.organization })}</p>`}
${
  host === undefined
    ? html`<p class="note careful">${texts.say('consent.local')}</p>`
    : html`<p class="soft">${texts.say('consent.where', { host })}</p>`
}
<form method="post" action="/consent">
<input type="hidden" name="form_token" value="${page.formToken}">
<input type="hidden" name="continuation" value="${page.continuation}">
<div class="actions">
<button class="quiet" type="submit" name="decision" value="deny">${texts.say('consent.deny')}</button>
<button type="submit" name="decision" value="allow">${texts.say('consent.allow')}</button>
</div>
<p class="links"><button class="quiet small" type="submit" name="decision" value="switch">${texts.say('consent.switch')}</button></p>
</form>
<p class="soft">${texts.say('consent.later')}</p>
${
  (policyUri || tosUri) &&
  html`<p class="links">${policyUri && html`<a href="${policyUri}" rel="noreferrer">${texts.say('consent.policy')}</a>`}${tosUri && html`<a href="${tosUri}" rel="noreferrer">${texts.say('consent.terms')}</a>`}</p>`
}`,
  }
}
