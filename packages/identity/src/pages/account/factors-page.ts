import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { deviceName } from '../device-name.ts'

/** The content of the page about a user's second factors. Times are Unix milliseconds. */
export interface FactorsPage {
  readonly formToken: string
  /** The authenticator app, if there is one. */
  readonly app: { readonly createdAt: number; readonly usedAt: number | undefined } | undefined
  /** Whether the user has a factor of any kind: then there are recovery codes. */
  readonly hasFactor: boolean
  readonly recoveryCodes: number
  /** Whether so few recovery codes are left that new ones are advised. */
  readonly hasFewCodes: boolean
  /** Whether an app may be set up. */
  readonly mayEnrol: boolean
  /** Whether the app may be removed. */
  readonly mayRemove: boolean
  readonly devices: readonly {
    readonly id: string
    readonly userAgent: string
    readonly createdAt: number
    readonly expiresAt: number
  }[]
}

/** The page about a user's second factors: the app, recovery codes and remembered devices. */
export function factorsPage(texts: Texts, page: FactorsPage): PageAnswer {
  const title = texts.say('factors.title')
  const when = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const date = (at: number) => when.format(at)
  return {
    title,
    wide: true,
    body: html`<h1>${title}</h1>
<p class="lead">${texts.say('factors.lead')}</p>
<h2>${texts.say('factors.app')}</h2>
<ul class="rows">${page.app === undefined ? noApp(texts, page) : app(texts, page, page.app, date)}</ul>
${page.hasFactor && recovery(texts, page)}
${page.devices.length > 0 && devices(texts, page, date)}
<p class="links"><a href="/account">${texts.say('back')}</a></p>`,
  }
}

function noApp(texts: Texts, { mayEnrol }: FactorsPage): Html {
  return html`<li><div><span class="soft">${texts.say('factors.app.none')}</span></div>
${mayEnrol && html`<form method="get" action="/account/factors/app"><button class="small" type="submit">${texts.say('factors.app.add')}</button></form>`}</li>`
}

function app(
  texts: Texts,
  { formToken, mayEnrol, mayRemove }: FactorsPage,
  { createdAt, usedAt }: NonNullable<FactorsPage['app']>,
  date: (at: number) => string,
): Html {
  return html`<li><div><strong>${texts.say('factors.app.name')}</strong>
<span class="soft">${texts.say('factors.since', { date: date(createdAt) })}${usedAt !== undefined && html` ${texts.say('factors.used', { date: date(usedAt) })}`}</span></div>
<div class="buttons">${mayEnrol && html`<form method="get" action="/account/factors/app"><button class="quiet small" type="submit">${texts.say('factors.app.replace')}</button></form>`}
${mayRemove && actionForm(texts, formToken, { action: 'remove_app', text: 'factors.app.remove' })}</div></li>`
}

function recovery(texts: Texts, { formToken, recoveryCodes, hasFewCodes }: FactorsPage): Html {
  return html`<h2>${texts.say('factors.recovery')}</h2>
${hasFewCodes && html`<p class="note careful">${texts.say('factors.recovery.few')}</p>`}
<ul class="rows"><li><div><span class="soft">${texts.say('factors.recovery.left', { count: String(recoveryCodes) })}</span></div>
${actionForm(texts, formToken, { action: 'new_codes', text: 'factors.recovery.renew' })}</li></ul>`
}

function devices(texts: Texts, { formToken, devices: all }: FactorsPage, date: (at: number) => string): Html {
  return html`<h2>${texts.say('factors.devices')}</h2>
<p class="soft">${texts.say('factors.devices.lead')}</p>
<ul class="rows">${all.map(
    (device) => html`<li><div><strong>${deviceName(device.userAgent)}</strong>
<span class="soft">${texts.say('factors.since', { date: date(device.createdAt) })} ${texts.say('factors.until', { date: date(device.expiresAt) })}</span></div>
${actionForm(texts, formToken, { action: 'forget_device', text: 'factors.devices.end', id: device.id, label: deviceName(device.userAgent) })}</li>`,
  )}</ul>
${all.length > 1 && actionForm(texts, formToken, { action: 'forget_devices', text: 'factors.devices.endAll' })}`
}

interface ActionForm {
  readonly action: string
  /** The key of the button's text. */
  readonly text: string
  readonly id?: string
  /** What it is about, for screen readers. */
  readonly label?: string
}

function actionForm(texts: Texts, formToken: string, { action, text, id, label }: ActionForm): Html {
  return html`<form method="post" action="/account/factors">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="action" value="${action}">
${id !== undefined && html`<input type="hidden" name="device_id" value="${id}">`}
<button class="quiet small" type="submit"${label !== undefined && html` aria-label="${texts.say(text)}: ${label}"`}>${texts.say(text)}</button>
</form>`
}
