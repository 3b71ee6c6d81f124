import { type Http, Problem } from '@gatehouse/kit'
import { icon, type PageParts, sendPage, styleSheet, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { linkFault } from '../links/link-fault.ts'
import type { LinkPurpose, Links } from '../links/links.ts'
import type { Choices } from '../preferences/choices.ts'
import type { Recipients } from '../store/store.ts'
import { readQuietHours, readSwitches, readZone } from './form.ts'
import { preferencesPage, type Sent, titleIn, unsubscribedPage, unsubscribePage } from './page.ts'

/** What the pages of subscriptions need. */
export interface SubscriptionContext {
  readonly links: Links
  readonly pages: PageParts
  readonly choices: Choices
  readonly recipients: Recipients
  readonly clock: { now(): number }
}

/** The path of the style sheet and the icon. */
export const subscriptionAssets = '/preferences/assets'

/** The largest form, in bytes. */
export const maxFormBytes = 16 * 1024

/** Reads forms; whatever else a mail program posts, such as `multipart/form-data` (RFC 8058 §3.2), is read as text. */
export function addFormParser(http: Http): void {
  const limits = { parseAs: 'string', bodyLimit: maxFormBytes } as const
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/x-www-form-urlencoded', limits, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )
  http.addContentTypeParser('*', limits, (_request, body, done) => done(null, String(body)))
}

/** The style sheet and the icon of the pages: name, media type, text. */
export function subscriptionFiles({ branding }: PageParts) {
  return [
    ['style.css', 'text/css; charset=utf-8', styleSheet(branding)],
    ['icon.svg', 'image/svg+xml', icon(branding)],
  ] as const
}

type TokenRequest = FastifyRequest<{ Params: { token: string } }>

/** GET /unsubscribe/{token}: asks whether to unsubscribe. Opening a link changes nothing. */
export function showUnsubscribe(context: SubscriptionContext) {
  const { pages } = context
  return behindLink(context, 'unsubscribe', async ([userId = '', event = ''], request, reply) => {
    const texts = textsFor(pages, request)
    const title = await titleFor(context, texts, userId, event)
    sendPage(pages, reply, texts, unsubscribePage(texts, request.url, title))
  })
}

/** POST /unsubscribe/{token}: from the page, or one click of a mail program (RFC 8058). */
export function submitUnsubscribe(context: SubscriptionContext) {
  const { links, pages, choices } = context
  return behindLink(context, 'unsubscribe', async ([userId = '', event = ''], request, reply) => {
    const oneClick = oneClickField.test(String(request.body ?? ''))
    await choices.unsubscribe(userId, event, oneClick ? 'one-click, from a mail' : 'on the page, from a mail')
    const texts = textsFor(pages, request)
    const title = await titleFor(context, texts, userId, event)
    sendPage(pages, reply, texts, unsubscribedPage(texts, title, links.url('preferences', [userId])))
  })
}

/** GET /preferences/{token}: what reaches the user, by event type and channel. */
export function showPreferences(context: SubscriptionContext) {
  return behindLink(context, 'preferences', ([userId = ''], request, reply) =>
    sendPreferences(context, { userId, texts: textsFor(context.pages, request), request, reply }),
  )
}

/** POST /preferences/{token} */
export function savePreferences(context: SubscriptionContext) {
  const { links, pages } = context
  return behindLink(context, 'preferences', async ([userId = ''], request, reply) => {
    const texts = textsFor(pages, request)
    if (!isOwnForm(request, links.baseUrl)) return sendPage(pages, reply, texts, { ...linkFault(texts), status: 403 })
    const form = request.body
    if (!(form instanceof URLSearchParams))
      throw new Problem(415, 'The body must be application/x-www-form-urlencoded, as the page sends it.')
    const note = await save(context, userId, form)
    const sent = note === 'saved' ? { note } : { note, form }
    return sendPreferences(context, { userId, texts, request, reply, sent })
  })
}

/** Answers by what a signed link is about. The link is the permission; an invalid one gets a page that says so. */
function behindLink(
  { links, pages }: SubscriptionContext,
  purpose: LinkPurpose,
  answer: (about: readonly string[], request: TokenRequest, reply: FastifyReply) => unknown,
) {
  return async (request: TokenRequest, reply: FastifyReply) => {
    const about = links.read(purpose, request.params.token)
    if (!about) return sendPage(pages, reply, textsFor(pages, request), linkFault(textsFor(pages, request)))
    await answer(about, request, reply)
    return reply
  }
}

const oneClickField = /List-Unsubscribe["=\s]+One-Click/i

async function titleFor({ choices }: SubscriptionContext, texts: Texts, userId: string, event: string) {
  const choice = (await choices.of(userId)).choices.find((each) => each.event === event)
  return choice ? titleIn(texts, choice) : event
}

interface PreferencesView {
  readonly userId: string
  readonly texts: Texts
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly sent?: Sent
}

async function sendPreferences(
  { pages, choices }: SubscriptionContext,
  { userId, texts, request, reply, sent }: PreferencesView,
) {
  const path = request.url.split('?', 1)[0] ?? ''
  return sendPage(pages, reply, texts, preferencesPage(texts, path, await choices.of(userId), sent))
}

/** The form came from our own page, as far as the browser says. */
function isOwnForm({ headers }: TokenRequest, baseUrl: string): boolean {
  const { origin, host } = headers
  const own = origin === undefined || origin === new URL(baseUrl).origin || URL.parse(origin)?.host === host
  return own && headers['sec-fetch-site'] !== 'cross-site'
}

async function save(
  { choices, recipients, clock }: SubscriptionContext,
  userId: string,
  form: URLSearchParams,
): Promise<'saved' | 'wrong'> {
  const all = form.get('all')
  if (all !== null) {
    await choices.unsubscribeAll(userId, all === 'off', 'on the page, from a mail')
    return 'saved'
  }
  const [hours, zone] = [readQuietHours(form), readZone(form)]
  if (hours === 'wrong' || zone === 'wrong') return 'wrong'
  for (const { event, channels } of (await choices.of(userId)).choices) {
    const offered = channels.map(({ channel }) => channel)
    const change = readSwitches(form, event, offered)
    if (change.on.length + change.off.length > 0) await choices.turn(userId, event, change)
  }
  if (hours !== 'as it was') await choices.keepQuiet(userId, hours)
  if (zone !== undefined) await recipients.setZoneinfo(userId, zone, clock.now())
  return 'saved'
}
