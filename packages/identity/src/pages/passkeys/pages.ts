import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { maxPasskeyNameLength, maxPasskeys, type Passkey } from '../../model/factors/passkey.ts'
import { deviceName } from '../device-name.ts'
import { passkeyForm, passkeyScript } from './form.ts'

/** The content of the page that lists a user's passkeys. */
export interface PasskeysPage {
  readonly formToken: string
  readonly passkeys: readonly Passkey[]
  /** What the device should know: which passkeys exist here, and the user's name (WebAuthn Level 3 §5.1.10). */
  readonly accepted: object
  /** Whether the user has a password that could be removed. */
  readonly isPasswordOptional: boolean
}

/** The user's passkeys. */
export function passkeysPage(texts: Texts, page: PasskeysPage): PageAnswer {
  const { passkeys, accepted } = page
  const title = texts.say('passkeys.title')
  const format = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const date = (at: number) => `${format.format(at)} UTC`
  return {
    title,
    wide: true,
    script: passkeyScript,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('passkeys.lead')}</p>
${passkeys.length === 0 && html`<p class="soft">${texts.say('passkeys.none')}</p>`}
<ul class="rows" data-accepted-passkeys="${JSON.stringify(accepted)}">${passkeys.map(
      (passkey) => html`<li><div><strong>${passkey.name}</strong>
<span class="soft">${describe(texts, passkey, date)}</span>
<span class="badge">${texts.say(passkey.backupEligible ? 'passkeys.synced' : 'passkeys.bound')}</span>
${passkey.counterRegressedAt !== undefined && html`<p class="note careful">${texts.say('passkeys.regressed', { date: date(passkey.counterRegressedAt) })}</p>`}</div>
<a href="/account/passkeys/edit?id=${passkey.id}" aria-label="${texts.say('passkeys.edit')}: ${passkey.name}">${texts.say('passkeys.edit')}</a></li>`,
    )}</ul>
${
  passkeys.length < maxPasskeys
    ? html`<p><a class="button" href="/account/passkeys/new">${texts.say('passkeys.add')}</a></p>`
    : html`<p class="soft">${texts.say('passkeys.full', { max: String(maxPasskeys) })}</p>`
}
${page.isPasswordOptional && passwordRemoval(texts, page)}
<p class="links"><a href="/account">${texts.say('back')}</a></p>`,
  }
}

function passwordRemoval(texts: Texts, { formToken }: PasskeysPage): Html {
  return html`<h2>${texts.say('passkeys.password.title')}</h2>
<p class="soft">${texts.say('passkeys.password.lead')}</p>
<form method="post" action="/account/passkeys/password">
<input type="hidden" name="form_token" value="${formToken}">
<button class="quiet small" type="submit">${texts.say('passkeys.password.submit')}</button>
</form>`
}

function describe(
  texts: Texts,
  { createdAt, lastUsedAt, lastUserAgent }: Passkey,
  date: (at: number) => string,
): string {
  const used =
    lastUsedAt === undefined
      ? texts.say('passkeys.unused')
      : texts.say('passkeys.used', { date: date(lastUsedAt), device: deviceName(lastUserAgent ?? '') })
  return `${texts.say('passkeys.created', { date: date(createdAt) })} ${used}`
}

/** The content of the page that creates a passkey. */
export interface NewPasskeyPage {
  readonly formToken: string
  /** For `navigator.credentials.create`. */
  readonly options: object
  readonly name?: string
  /** The key of the fault of what was sent. */
  readonly wrong?: string | undefined
}

/** The page that creates a passkey. */
export function newPasskeyPage(texts: Texts, { formToken, options, name, wrong }: NewPasskeyPage): PageAnswer {
  const title = texts.say('passkey.new.title')
  const form = { action: '/account/passkeys/new', formToken, ceremony: 'create', options } as const
  return {
    title,
    status: wrong === undefined ? 200 : 400,
    script: passkeyScript,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('passkey.new.lead')}</p>
${wrong !== undefined && html`<p class="note wrong" role="alert">${texts.say(wrong)}</p>`}
<p class="note careful" data-without-passkeys>${texts.say('passkey.new.unsupported')}</p>
${passkeyForm(texts, { ...form, fields: nameField(texts, name ?? '', 'passkey.new.hint'), submit: 'passkey.new.submit' })}
<p class="links"><a href="/account/passkeys">${texts.say('back')}</a></p>`,
  }
}

/** The content of the page that renames or removes a passkey. */
export interface EditPasskeyPage {
  readonly formToken: string
  readonly passkey: Pick<Passkey, 'id' | 'name'>
  /** The key of the fault of what was sent. */
  readonly wrong?: string | undefined
}

/** The page that renames or removes a passkey. */
export function editPasskeyPage(texts: Texts, { formToken, passkey, wrong }: EditPasskeyPage): PageAnswer {
  const title = texts.say('passkey.edit.title')
  const form = (content: Html) => html`<form method="post" action="/account/passkeys/edit">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="id" value="${passkey.id}">
${content}
</form>`
  return {
    title,
    status: wrong === undefined ? 200 : 409,
    body: html`<h1>${title}</h1>
${wrong !== undefined && html`<p class="note wrong" role="alert">${texts.say(wrong)}</p>`}
${form(html`${nameField(texts, passkey.name)}
<div class="actions"><button type="submit" name="decision" value="rename">${texts.say('passkey.edit.submit')}</button></div>`)}
<h2>${texts.say('passkey.remove.title')}</h2>
<p class="soft">${texts.say('passkey.remove.lead')}</p>
${form(html`<div class="actions"><button class="quiet" type="submit" name="decision" value="remove">${texts.say('passkey.remove.submit')}</button></div>`)}
<p class="links"><a href="/account/passkeys">${texts.say('back')}</a></p>`,
  }
}

function nameField(texts: Texts, value: string, hint?: string): Html {
  return html`<label for="name">${texts.say('passkey.name')}</label>
<input id="name" name="name" type="text" value="${value}" maxlength="${maxPasskeyNameLength}" autocomplete="off"${hint === undefined ? html` required` : html` aria-describedby="name-hint"`}>
${hint !== undefined && html`<p class="soft" id="name-hint">${texts.say(hint)}</p>`}`
}
