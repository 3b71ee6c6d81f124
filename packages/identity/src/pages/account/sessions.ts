import { type Html, html, type Texts } from '@gatehouse/kit/page'
import { deviceName } from '../device-name.ts'
import { endForm } from './end-form.ts'

/** A session as the account page shows it. */
export interface ShownSession {
  readonly id: string
  readonly userAgent: string
  readonly address: string
  readonly seenAt: number
  readonly current: boolean
}

/** The sessions of browsers of one name. */
export interface SessionGroup {
  readonly name: string
  /** The latest first; the session of this browser before all others. */
  readonly sessions: readonly [ShownSession, ...ShownSession[]]
}

/** Groups sessions by the name of their browser: the same browser that signed in again is one device to a person. */
export function groupSessions(sessions: readonly ShownSession[]): SessionGroup[] {
  const order = [...sessions].sort((a, b) => Number(b.current) - Number(a.current) || b.seenAt - a.seenAt)
  return [...Map.groupBy(order, ({ userAgent }) => deviceName(userAgent))].flatMap(([name, [first, ...rest]]) =>
    first === undefined ? [] : [{ name, sessions: [first, ...rest] as const }],
  )
}

/** What the section of the sessions shows. */
export interface SessionsSection {
  readonly formToken: string
  readonly sessions: readonly ShownSession[]
  readonly date: (at: number) => string
}

/** The sessions, each of which can be ended, and all of them at once. */
export function sessionsSection(texts: Texts, section: SessionsSection): Html {
  const { formToken, sessions } = section
  const others = sessions.some(({ current }) => !current)
  const everywhere = (scope: 'others' | 'all') =>
    html`<button class="quiet" type="submit" name="scope" value="${scope}">${texts.say(`account.everywhere.${scope}`)}</button>`
  return html`<h2 id="sessions">${texts.say('account.sessions')}</h2>
<ul class="rows">${groupSessions(sessions).map((group) => groupRow(texts, section, group))}</ul>
<form method="post" action="/account/sign-out">
<input type="hidden" name="form_token" value="${formToken}">
<p class="soft">${texts.say('account.everywhere.lead')}</p>
<div class="actions">${others && everywhere('others')}${everywhere('all')}</div>
</form>`
}

function groupRow(texts: Texts, section: SessionsSection, { name, sessions }: SessionGroup): Html {
  const [first, ...rest] = sessions
  if (rest.length === 0) return sessionRow(texts, section, first, html`<strong>${name}</strong>`)
  const count = texts.say('account.sessions.count', {
    count: String(sessions.length),
    date: section.date(first.seenAt),
  })
  return html`<li><div><strong>${name}</strong>${first.current && thisBrowser(texts)}
<details><summary class="soft">${count}</summary>
<ul class="rows">${sessions.map((session) => sessionRow(texts, section, session, ''))}</ul></details></div></li>`
}

function sessionRow(texts: Texts, section: SessionsSection, session: ShownSession, title: Html | string): Html {
  const { id, address, seenAt, current, userAgent } = session
  const seen = texts.say('account.sessions.seen', { date: section.date(seenAt), address })
  const label = `${deviceName(userAgent)}, ${seen}`
  return html`<li><div>${title}<span class="soft">${seen}</span>${current && thisBrowser(texts)}</div>
${endForm(texts, section.formToken, { name: 'session_id', value: id, text: 'account.sessions.end', label })}</li>`
}

function thisBrowser(texts: Texts): Html {
  return html` <span class="badge">${texts.say('account.sessions.this')}</span>`
}
