import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The content of the page on the way to another identity provider. */
export interface ProviderPage {
  /** The key of its texts: to sign in there, or to sign out. */
  readonly key: 'provider' | 'logout.provider'
  readonly provider: string
  readonly address: URL
}

/** The page on the way to another identity provider; its link is for browsers that do not go there by themselves. */
export function providerPage(texts: Texts, { key, provider, address }: ProviderPage): PageAnswer {
  const title = texts.say(`${key}.title`, { provider })
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say(`${key}.lead`, { host: address.host })}</p>
<p><a class="button" href="${address.href}">${texts.say(`${key}.submit`)}</a></p>`,
  }
}
