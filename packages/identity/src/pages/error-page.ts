import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { NextStep } from './page-error.ts'

export interface ErrorPage {
  /** The key of the words. */
  readonly text: string
  /** For the application's developers. */
  readonly detail?: string | undefined
  readonly requestId: string
  readonly next?: NextStep | undefined
}

/** Something went wrong and there is nowhere safe to send the browser. */
export function errorPage(texts: Texts, { text, detail, requestId, next }: ErrorPage): PageAnswer {
  const title = texts.say('error.title')
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead" role="alert">${texts.say(text)}</p>
${detail !== undefined && html`<p class="soft">${texts.say('error.detail')}: <code>${detail}</code></p>`}
${nextLink(texts, next)}
<p class="soft">${texts.say('error.reference')}: <code>${requestId}</code></p>`,
  }
}

export interface Message {
  readonly values?: Readonly<Record<string, string>>
  readonly next?: NextStep
}

/** One thing said, and where to go from here. */
export function messagePage(texts: Texts, key: string, { values = {}, next }: Message = {}): PageAnswer {
  const title = texts.say(`${key}.title`, values)
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead" role="status">${texts.say(`${key}.lead`, values)}</p>
${nextLink(texts, next)}`,
  }
}

function nextLink(texts: Texts, next: NextStep | undefined): Html | false {
  return next !== undefined && html`<p><a class="button" href="${next.href}">${texts.say(next.text)}</a></p>`
}
