import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** The page on the way to another identity provider; its link is for browsers that do not go there by themselves. */
export function providerPage(texts: Texts, provider: string, address: URL): PageAnswer {
  const title = texts.say('provider.title', { provider })
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('provider.lead', { host: address.host })}</p>
<p><a class="button" href="${address.href}">${texts.say('provider.submit')}</a></p>`,
  }
}
