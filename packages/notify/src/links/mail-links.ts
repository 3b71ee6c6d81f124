import { type Html, html, type Languages } from '@gatehouse/kit/page'
import type { OutgoingMessage } from '@gatehouse/providers'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import { type Tracking, type TrackingRule, trackingOf } from '../model/delivery/tracking.ts'
import type { CompleteMessages } from './complete-messages.ts'
import type { Links } from './links.ts'
import { beforeEnd, type IsTracked, withClicks } from './mail-html.ts'

/** What the links of mails need. */
export interface MailLinksOptions {
  readonly links: Links
  readonly catalog: CatalogKeeper
  readonly languages: Languages
  /** The hosts whose links are tracked whatever the template. */
  readonly hosts: ReadonlySet<string>
  /** Of mails whose event type doesn't say. */
  readonly tracking: TrackingRule
}

/**
 * A footer that leads to the preference page, on mails that are not critical with one-click unsubscription (RFC 8058,
 * RFC 2369); an open pixel and click links on those whose event type is tracked. Sensitive mails get none of it: some go
 * to an address that is not proven yet. Every attempt of a mail carries the same links.
 */
export function createMailLinks({ links, catalog, languages, hosts, tracking }: MailLinksOptions): CompleteMessages {
  return async (messages, drafted) => {
    const { eventTypes, linkHosts } = await catalog.current()
    return messages.map((message) => {
      const eventType = eventTypes.get(message.event)
      if (!eventType || eventType.sensitive) return message
      const level = trackingOf(eventType.tracking ?? {}, 'email') ?? trackingOf(tracking, 'email') ?? 'off'
      const named = linkHosts(eventType.templateId, 'email')
      const isTracked = (host: string) => hosts.has(host) || named.has(host) || drafted?.has(host) === true
      return withFooter(track(message, links, level, isTracked), links, languages)
    })
  }
}

/** What a template of a mail that is not sensitive may name itself: then the footer is left out. */
export function mailVariables(links: Links) {
  return (userId: string, event: string): Readonly<Record<string, string>> => {
    const [unsubscribe, preferences] = [links.url('unsubscribe', [userId, event]), links.url('preferences', [userId])]
    return {
      ...(unsubscribe === undefined ? {} : { unsubscribe_url: unsubscribe }),
      ...(preferences === undefined ? {} : { preferences_url: preferences }),
    }
  }
}

/** What is critical can't be unsubscribed from: its footer leads to the preferences alone. */
function withFooter(message: OutgoingMessage, links: Links, languages: Languages): OutgoingMessage {
  const { userId, event, content, critical } = message
  const unsubscribe = critical ? undefined : links.url('unsubscribe', [userId, event])
  const preferences = links.url('preferences', [userId])
  if (preferences === undefined || (unsubscribe === undefined && !critical)) return message
  const fields = unsubscribe && {
    'List-Unsubscribe': `<${unsubscribe}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
  const headed = fields ? { ...message, headers: { ...message.headers, ...fields } } : message
  const named = (url: string) => content.body.includes(url) || content.html?.includes(url)
  if (named(preferences) || (unsubscribe !== undefined && named(unsubscribe))) return headed
  const texts = languages.choose(content.locale, undefined)
  const ways = [
    ...(unsubscribe === undefined ? [] : [{ say: texts.say('mail.unsubscribe'), url: unsubscribe }]),
    { say: texts.say('mail.preferences'), url: preferences },
  ]
  const why = critical ? [] : [texts.say('mail.why')]
  const lines = [...why, ...ways.map(({ say, url }) => `${say}: ${url}`)]
  return {
    ...headed,
    content: {
      ...content,
      body: `${content.body.trimEnd()}\n\n-- \n${lines.join('\n')}\n`,
      ...(content.html === undefined ? {} : { html: beforeEnd(content.html, footer(why, ways).text) }),
    },
  }
}

function footer(why: readonly string[], ways: ReadonlyArray<{ readonly say: string; readonly url: string }>): Html {
  const anchors = ways.map(
    ({ say, url }, index) => html`${index > 0 && ' · '}<a href="${url}" style="color:#666">${say}</a>`,
  )
  return html`<p style="margin-top:2em;font-size:12px;color:#666">${why.map((text) => `${text} `)}${anchors}</p>`
}

function track(message: OutgoingMessage, links: Links, tracking: Tracking, isTracked: IsTracked): OutgoingMessage {
  const { deliveryId, content } = message
  if (content.html === undefined || tracking === 'off') return message
  const clicked = tracking === 'opens' ? content.html : withClicks(content.html, deliveryId, links, isTracked)
  const pixel = links.url('open', [deliveryId])
  const watched =
    tracking === 'clicks' || pixel === undefined
      ? clicked
      : beforeEnd(clicked, `<img src="${pixel}" width="1" height="1" alt="" style="display:block">`)
  return { ...message, content: { ...content, html: watched } }
}
