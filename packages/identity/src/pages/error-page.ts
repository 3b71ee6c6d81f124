import type { PageAnswer } from './answer.ts'
import { html } from './html.ts'
import type { Texts } from './texts.ts'

/** Something went wrong and there is nowhere safe to send the browser. */
export function errorPage(texts: Texts, text: string, detail: string | undefined, requestId: string): PageAnswer {
  const title = texts.say('error.title')
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead" role="alert">${texts.say(text)}</p>
${detail !== undefined && html`<p class="soft">${texts.say('error.detail')}: <code>${detail}</code></p>`}
<p class="soft"><code>${requestId}</code></p>`,
  }
}

/** One thing said, with nothing to do. */
export function messagePage(texts: Texts, key: string, values: Readonly<Record<string, string>> = {}): PageAnswer {
  const title = texts.say(`${key}.title`, values)
  return { title, body: html`<h1>${title}</h1>\n<p class="lead" role="status">${texts.say(`${key}.lead`, values)}</p>` }
}
