import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'

/** What whoever followed a link of a message is shown when it isn't one of ours: most often it was cut off. */
export function linkFault(texts: Texts): PageAnswer {
  const title = texts.say('link.title')
  return { title, status: 404, body: html`<h1>${title}</h1><p class="lead">${texts.say('link.lead')}</p>` }
}
