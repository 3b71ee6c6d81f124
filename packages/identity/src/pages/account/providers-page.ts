import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The content of the page of connected providers. */
export interface ProvidersPage {
  readonly formToken: string
  readonly links: readonly {
    readonly id: string
    readonly name: string
    readonly email: string | undefined
    readonly linkedAt: number
    readonly usedAt: number
  }[]
  readonly offered: readonly { readonly id: string; readonly name: string }[]
  /** The fault, as text. */
  readonly wrong?: string
  readonly status?: number
}

/** The page of connected providers: each can be disconnected, and others can be connected. */
export function providersPage(texts: Texts, { formToken, links, offered, wrong, status }: ProvidersPage): PageAnswer {
  const title = texts.say('providers.title')
  const when = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const token = html`<input type="hidden" name="form_token" value="${formToken}">`
  const remove = texts.say('providers.remove')
  return {
    title,
    wide: true,
    status: status ?? 200,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('providers.lead')}</p>
${wrong !== undefined && html`<p class="note wrong" role="alert">${wrong}</p>`}
${links.length === 0 && html`<p class="soft">${texts.say('providers.none')}</p>`}
<ul class="rows">${links.map(
      ({ id, name, email, linkedAt, usedAt }) => html`<li><div><strong>${name}</strong>
${email !== undefined && html`<span class="soft">${email}</span><br>`}
<span class="soft">${texts.say('providers.since', { date: when.format(linkedAt), used: when.format(usedAt) })}</span></div>
<form method="post" action="/account/providers">${token}<input type="hidden" name="link_id" value="${id}">
<button class="quiet small" type="submit" aria-label="${remove}: ${name}${email !== undefined && ` ${email}`}">${remove}</button></form></li>`,
    )}</ul>
${
  offered.length > 0 &&
  html`<h2>${texts.say('providers.add')}</h2>
<form method="post" action="/account/providers">${token}
<div class="actions providers">${offered.map(
    ({ id, name }) =>
      html`<button class="quiet" type="submit" name="connection" value="${id}">${texts.say('providers.connect', { provider: name })}</button>`,
  )}</div></form>`
}
<p class="links"><a href="/account">${texts.say('back')}</a></p>`,
  }
}
