import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { deviceName } from './device-name.ts'
import { describeAccess } from './scope-list.ts'

/** The content of the account page. */
export interface AccountPage {
  readonly formToken: string
  /** Whether there are other identity providers to connect. */
  readonly mayLink: boolean
  readonly user: string
  /** Whether the user has a second factor, or may have one. */
  readonly mayUseFactors: boolean
  /** Whether users may have passkeys. */
  readonly passkeys: boolean
  readonly apps: readonly {
    readonly clientId: string
    readonly name: string
    readonly scopes: readonly string[]
    readonly claims: readonly string[]
    readonly since: number
  }[]
  readonly sessions: readonly {
    readonly id: string
    readonly userAgent: string
    readonly address: string
    readonly seenAt: number
    readonly current: boolean
  }[]
  readonly hasOrganizations: boolean
  readonly apiKeys: readonly {
    readonly id: string
    readonly name: string
    readonly scopes: readonly string[]
    readonly createdAt: number
    readonly expiresAt: number | undefined
  }[]
}

/** The account page: connected apps, sessions and API keys, each of which can be ended. */
export function accountPage(texts: Texts, page: AccountPage): PageAnswer {
  const title = texts.say('account.title')
  const when = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const date = (at: number) => `${when.format(at)} UTC`
  return {
    title,
    wide: true,
    body: html`<h1>${title}</h1>
<p class="lead">${page.user}</p>
<h2>${texts.say('account.apps')}</h2>
${page.apps.length === 0 && html`<p class="soft">${texts.say('account.apps.none')}</p>`}
<ul class="rows">${page.apps.map(
      (app) => html`<li><div><strong>${app.name}</strong>
<span class="soft">${describeAccess(texts, app).join(' · ')}</span><br>
<span class="soft">${texts.say('account.apps.since', { date: date(app.since) })}</span></div>
${endForm(texts, page.formToken, { name: 'client_id', value: app.clientId, text: 'account.apps.end', label: app.name })}</li>`,
    )}</ul>
<h2>${texts.say('account.sessions')}</h2>
<ul class="rows">${page.sessions.map(
      (session) => html`<li><div><strong>${deviceName(session.userAgent)}</strong>
<span class="soft">${texts.say('account.sessions.seen', { date: date(session.seenAt), address: session.address })}</span>
${session.current && html` <span class="badge">${texts.say('account.sessions.this')}</span>`}</div>
${endForm(texts, page.formToken, { name: 'session_id', value: session.id, text: 'account.sessions.end', label: deviceName(session.userAgent) })}</li>`,
    )}</ul>
${page.apiKeys.length > 0 && apiKeys(texts, page, date)}
<p class="links"><a href="/account/password">${texts.say('account.password')}</a>${page.passkeys && html`<a href="/account/passkeys">${texts.say('passkeys.title')}</a>`}${page.mayUseFactors && html`<a href="/account/factors">${texts.say('account.factors')}</a>`}${page.mayLink && html`<a href="/account/providers">${texts.say('account.providers')}</a>`}${page.hasOrganizations && html`<a href="/account/organizations">${texts.say('organizations.title')}</a>`}<a href="/end_session">${texts.say('account.signout')}</a></p>`,
  }
}

function apiKeys(texts: Texts, { formToken, apiKeys: keys }: AccountPage, date: (at: number) => string): Html {
  return html`<h2>${texts.say('account.keys')}</h2>
<ul class="rows">${keys.map(
    (key) => html`<li><div><strong>${key.name}</strong>
<span class="soft">${describeAccess(texts, { scopes: key.scopes, claims: [] }).join(' · ')}</span><br>
<span class="soft">${texts.say('account.keys.since', { date: date(key.createdAt) })}${key.expiresAt !== undefined && html` ${texts.say('account.keys.until', { date: date(key.expiresAt) })}`}</span></div>
${endForm(texts, formToken, { name: 'api_key_id', value: key.id, text: 'account.keys.end', label: key.name })}</li>`,
  )}</ul>`
}

interface EndForm {
  /** The name of the field that identifies what is ended, and its value. */
  readonly name: string
  readonly value: string
  /** The key of the button's text. */
  readonly text: string
  /** What is ended, for screen readers. */
  readonly label: string
}

function endForm(texts: Texts, formToken: string, { name, value, text, label }: EndForm): Html {
  return html`<form method="post" action="/account/end">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="${name}" value="${value}">
<button class="quiet small" type="submit" aria-label="${texts.say(text)}: ${label}">${texts.say(text)}</button>
</form>`
}
