import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { Access } from '../model/grants/consent.ts'
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
  /** Who publishes the client, verified by the operator. */
  readonly publisher: string | undefined
  /** The hash of the client's logo. */
  readonly logo: string | undefined
  readonly clientUri: string | undefined
  /** The name of the organization that the access is for. */
  readonly organization?: string | undefined
  readonly policyUri: string | undefined
  readonly tosUri: string | undefined
  readonly formTargets: readonly string[]
}

/** The consent page. */
export function consentPage(texts: Texts, page: ConsentPage): PageAnswer {
  const { client, user, host, publisher, logo } = page
  const title = texts.say('consent.title', { client })
  return {
    title,
    formTargets: page.formTargets,
    body: html`${logo && html`<img class="logo" src="/pages/logos/${logo}" alt="">\n`}<h1>${title}</h1>
<p class="lead">${texts.say('consent.lead', { client, user })}</p>
${accessList(texts, page.access)}
${publisher && html`<p class="soft">${texts.say('consent.publisher', { publisher })}</p>`}
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
${clientLinks(texts, page)}`,
  }
}

/** The pages of the client about itself. */
function clientLinks(texts: Texts, { clientUri, policyUri, tosUri }: ConsentPage) {
  const links = [
    [clientUri, clientUri && URL.parse(clientUri)?.host],
    [policyUri, texts.say('consent.policy')],
    [tosUri, texts.say('consent.terms')],
  ].flatMap(([uri, text]) => (uri && text ? [html`<a href="${uri}" rel="noreferrer">${text}</a>`] : []))
  return links.length > 0 && html`<p class="links">${links}</p>`
}
