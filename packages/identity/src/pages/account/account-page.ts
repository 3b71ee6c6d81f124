import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { deviceName } from '../device-name.ts'
import type { NextStep } from '../page-error.ts'
import { describeAccess } from '../scope-list.ts'
import { endForm } from './end-form.ts'
import { profileSection, type ShownProfile } from './profile.ts'
import { type ShownSession, sessionsSection } from './sessions.ts'

/** The content of the account page. */
export interface AccountPage {
  readonly formToken: string
  readonly user: string
  readonly profile: ShownProfile
  readonly securityPages: readonly NextStep[]
  readonly apps: readonly {
    readonly clientId: string
    readonly name: string
    readonly scopes: readonly string[]
    readonly claims: readonly string[]
    readonly since: number
    /** Each time the app was connected, on some device. */
    readonly grants: readonly { readonly userAgent: string; readonly createdAt: number; readonly usedAt: number }[]
  }[]
  readonly sessions: readonly ShownSession[]
  readonly apiKeys: readonly {
    readonly id: string
    readonly name: string
    readonly scopes: readonly string[]
    readonly createdAt: number
    readonly expiresAt: number | undefined
  }[]
}

/** The account page: who the user is, how they sign in, where they are signed in, and what has access. */
export function accountPage(texts: Texts, page: AccountPage): PageAnswer {
  const title = texts.say('account.title')
  const when = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const date = (at: number) => `${when.format(at)} UTC`
  return {
    title,
    wide: true,
    body: html`<h1>${title}</h1>
<p class="lead">${page.user}</p>
${profileSection(texts, page.profile)}
<h2>${texts.say('account.security')}</h2>
<ul class="rows">${page.securityPages.map(({ href, text }) => html`<li><a href="${href}">${texts.say(text)}</a></li>`)}</ul>
${sessionsSection(texts, { ...page, date })}
${appsSection(texts, page, date)}
${page.apiKeys.length > 0 && apiKeysSection(texts, page, date)}
<h2>${texts.say('account.data')}</h2>
<ul class="rows">
<li><a href="/account/data">${texts.say('account.data.download')}</a></li>
<li><a href="/account/delete">${texts.say('account.data.delete')}</a></li>
</ul>
<p class="links"><a href="/end_session">${texts.say('account.signout')}</a></p>`,
  }
}

function appsSection(texts: Texts, { formToken, apps }: AccountPage, date: (at: number) => string): Html {
  return html`<h2 id="apps">${texts.say('account.apps')}</h2>
${apps.length === 0 && html`<p class="soft">${texts.say('account.apps.none')}</p>`}
<ul class="rows">${apps.map(
    (app) => html`<li><div><strong>${app.name}</strong>
<span class="soft">${describeAccess(texts, app).join(' · ')}</span><br>
<span class="soft">${texts.say('account.apps.since', { date: date(app.since) })}</span>
${app.grants.map(
  ({ userAgent, createdAt, usedAt }) =>
    html`<br><span class="soft">${texts.say('account.apps.used', { device: deviceName(userAgent), since: date(createdAt), date: date(usedAt) })}</span>`,
)}</div>
${endForm(texts, formToken, { name: 'client_id', value: app.clientId, text: 'account.apps.end', label: app.name })}</li>`,
  )}</ul>`
}

function apiKeysSection(texts: Texts, { formToken, apiKeys }: AccountPage, date: (at: number) => string): Html {
  return html`<h2>${texts.say('account.keys')}</h2>
<ul class="rows">${apiKeys.map(
    (key) => html`<li><div><strong>${key.name}</strong>
<span class="soft">${describeAccess(texts, { scopes: key.scopes, claims: [] }).join(' · ')}</span><br>
<span class="soft">${texts.say('account.keys.since', { date: date(key.createdAt) })}${key.expiresAt !== undefined && html` ${texts.say('account.keys.until', { date: date(key.expiresAt) })}`}</span></div>
${endForm(texts, formToken, { name: 'api_key_id', value: key.id, text: 'account.keys.end', label: key.name })}</li>`,
  )}</ul>`
}
