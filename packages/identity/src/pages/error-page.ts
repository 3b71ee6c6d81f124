import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { NextStep } from './page-error.ts'

/** The content of an error page. */
export interface ErrorPage {
  /** The key of the text. */
  readonly text: string
  /** For the application's developers. */
  readonly detail?: string | undefined
  readonly requestId: string
  readonly next?: NextStep | undefined
}

/** The page of an error that can't be sent to the client. */
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

/** The values and the next step of a message. */
export interface Message {
  readonly values?: Readonly<Record<string, string>>
  readonly next?: NextStep
}

/** A page with a single message and the next step. */
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
