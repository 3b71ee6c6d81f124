import { readFileSync } from 'node:fs'
import { type Html, html, type Texts } from '@gatehouse/kit/page'

/** The script of pages with a {@link passkeyForm}, for the member `script` of the page. */
export const passkeyScript = 'passkeys.js'

/** The text of the script. */
export const passkeyScriptText: string = readFileSync(new URL(passkeyScript, import.meta.url), 'utf8')

/** A form that the script answers by a credential: it adds the field `credential` and sends the form. */
export interface PasskeyForm {
  readonly action: string
  readonly formToken: string
  /** Whether a passkey is created or used. */
  readonly ceremony: 'create' | 'get'
  /** The options of the ceremony, or the path that returns them for the form's token. */
  readonly options: object | string
  /** Whether passkeys are offered in the autofill of the page's user name. */
  readonly autofill?: boolean
  readonly hidden?: Readonly<Record<string, string>>
  /** Fields of the form. */
  readonly fields?: Html
  /** The names of fields of another form of the page, whose values are sent too. */
  readonly copied?: readonly string[]
  /** The key of the text above the button. */
  readonly lead?: string
  /** The key of the button's text. */
  readonly submit: string
  /** Whether the button stands behind another of the page. */
  readonly quiet?: boolean
}

/** A form for a passkey. It stays hidden without script and in a browser without passkeys. */
export function passkeyForm(texts: Texts, form: PasskeyForm): Html {
  const { options } = form
  const source =
    typeof options === 'string'
      ? html` data-options-from="${options}"`
      : html` data-options="${JSON.stringify(options)}"`
  const message = (name: string) => texts.say(`passkey.${name}`)
  return html`<form method="post" action="${form.action}" data-passkey="${form.ceremony}"${source}${form.autofill && html` data-autofill`}${form.copied && html` data-copied="${form.copied.join(' ')}"`} data-cancelled="${message('cancelled')}" data-registered="${message('registered')}" data-failed="${message('failed')}" hidden>
<input type="hidden" name="form_token" value="${form.formToken}">
${Object.entries(form.hidden ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${
  form.lead !== undefined &&
  html`<p class="or">${texts.say('login.or')}</p>
<p class="soft">${texts.say(form.lead)}</p>`
}
${form.fields}
<p class="note careful" role="status" hidden></p>
<div class="actions"><button${form.quiet && html` class="quiet"`} type="submit">${texts.say(form.submit)}</button></div>
</form>`
}
