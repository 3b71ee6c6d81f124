import { type Html, html, type Texts } from '@gatehouse/kit/page'

/** A button that ends something. */
export interface EndForm {
  /** The name of the field that identifies what is ended, and its value. */
  readonly name: string
  readonly value: string
  /** The key of the button's text. */
  readonly text: string
  /** What is ended, for screen readers. */
  readonly label: string
}

/** The form of a button that ends an app's access, a session or an API key. */
export function endForm(texts: Texts, formToken: string, { name, value, text, label }: EndForm): Html {
  return html`<form method="post" action="/account/end">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="${name}" value="${value}">
<button class="quiet small" type="submit" aria-label="${texts.say(text)}: ${label}">${texts.say(text)}</button>
</form>`
}
