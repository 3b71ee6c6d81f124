import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { NextStep } from './page-error.ts'

/** A field of a form. */
export interface Field {
  readonly name: string
  /** The key of its label. */
  readonly text: string
  readonly type: 'text' | 'email' | 'password' | 'tel'
  readonly autocomplete: string
  readonly inputMode?: 'numeric'
  readonly value?: string | undefined
  readonly isOptional?: boolean
  /** The key of a hint below it. */
  readonly hint?: string
}

/** The field of a code that was mailed or sent by SMS. */
export const codeField: Field = {
  name: 'code',
  text: 'code.code',
  type: 'text',
  autocomplete: 'one-time-code',
  inputMode: 'numeric',
}

/** The content of a form page. */
export interface FormPage {
  /** The prefix of the page's texts: `<key>.title`, `.lead`, `.submit`. */
  readonly key: string
  readonly action: string
  readonly formToken: string
  readonly fields: readonly Field[]
  readonly hidden?: Readonly<Record<string, string>>
  readonly values?: Readonly<Record<string, string>>
  /** The key of the fault of what was sent. */
  readonly wrong?: string | undefined
  /** The name of the faulty field. */
  readonly wrongField?: string | undefined
  readonly status?: number
  readonly back?: NextStep
}

/** A page with a form of a few fields. */
export function formPage(texts: Texts, page: FormPage): PageAnswer {
  const title = texts.say(`${page.key}.title`, page.values)
  const first = page.wrongField ?? page.fields.find(({ value }) => value === undefined)?.name
  return {
    title,
    status: page.status ?? (page.wrong === undefined ? 200 : 400),
    body: html`<h1>${title}</h1>
${texts.has(`${page.key}.lead`) && html`<p class="lead">${texts.say(`${page.key}.lead`, page.values)}</p>`}
${page.wrong !== undefined && html`<p class="note wrong" id="wrong" role="alert">${texts.say(page.wrong, page.values)}</p>`}
<form method="post" action="${page.action}">
<input type="hidden" name="form_token" value="${page.formToken}">
${Object.entries(page.hidden ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${page.fields.map(
  ({
    name,
    text,
    type,
    autocomplete,
    inputMode,
    value,
    hint,
    isOptional,
  }) => html`<label for="${name}">${texts.say(text)}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${inputMode !== undefined && html` inputmode="${inputMode}"`} value="${value ?? ''}" maxlength="256"${isOptional !== true && html` required`}${describeField(name, hint, page)}${name === first && html` autofocus`}>
${hint !== undefined && html`<p class="soft" id="${name}-hint">${texts.say(hint, page.values)}</p>`}`,
)}
<div class="actions"><button type="submit">${texts.say(`${page.key}.submit`)}</button></div>
</form>
${page.back !== undefined && html`<p class="links"><a href="${page.back.href}">${texts.say(page.back.text)}</a></p>`}`,
  }
}

/** The attributes with which screen readers read a field: its fault and its hint. */
function describeField(name: string, hint: string | undefined, { wrong, wrongField }: FormPage): Html | false {
  const isWrong = wrong !== undefined && name === wrongField
  const ids = [...(isWrong ? ['wrong'] : []), ...(hint === undefined ? [] : [`${name}-hint`])]
  return ids.length > 0 && html`${isWrong && html` aria-invalid="true"`} aria-describedby="${ids.join(' ')}"`
}
