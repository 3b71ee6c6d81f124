import { html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { Form } from '../oauth/parameters.ts'

/** A form that sends the response to the client (OAuth 2.0 Form Post Response Mode); without scripts by its button. */
export function submitPage(texts: Texts, action: string, target: string, fields: Form): PageAnswer {
  const title = texts.say('submit.title')
  return {
    title,
    submits: true,
    formTargets: [target],
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('submit.lead')}</p>
<form method="post" action="${action}">
${Object.entries(fields).flatMap(([name, values]) =>
  [values].flat().map((value) => html`<input type="hidden" name="${name}" value="${value}">`),
)}
<div class="actions"><button type="submit">${texts.say('submit.submit')}</button></div>
</form>`,
  }
}
