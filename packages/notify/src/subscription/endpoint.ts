import { type Http, htmlAnswer, Problem, problemAnswer } from '@gatehouse/kit'
import { icon, type PageParts, sendPage, styleSheet, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { linkFault } from '../links/link-fault.ts'
import type { LinkPurpose, Links } from '../links/links.ts'
import type { Choices } from '../preferences/choices.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Recipients } from '../store/store.ts'
import { readQuietHours, readSwitches, readZone } from './form.ts'
import { preferencesPage, type Sent, titleIn, unsubscribedPage, unsubscribePage } from './page.ts'

export interface SubscriptionRoutes {
  readonly links: Links
  readonly pages: PageParts
  readonly choices: Choices
  readonly recipients: Recipients
  readonly clock: { now(): number }
}

export const subscriptionAssets = '/preferences/assets'
const Token = Type.Object({ token: Type.String({ maxLength: 1_024, description: 'The signed part of the link.' }) })
const NoLink = htmlAnswer('A page that says that this link does not exist.')
const mostBytes = 16 * 1024

/** The pages that a mail's footer leads to. The signed link is the permission; nothing is changed by opening one. */
export async function subscriptionEndpoints(http: Http, options: SubscriptionRoutes): Promise<void> {
  takeForms(http)
  const { links, pages } = options
  type Asked = FastifyRequest<{ Params: { token: string } }>
  /** Answers by what the link is about, or says that it isn't one. */
  const by =
    (
      purpose: LinkPurpose,
      answer: (about: readonly string[], request: Asked, reply: FastifyReply) => Promise<unknown>,
    ) =>
    async (request: Asked, reply: FastifyReply) => {
      const about = links.read(purpose, request.params.token)
      if (!about) return sendPage(pages, reply, textsFor(pages, request), linkFault(textsFor(pages, request)))
      await answer(about, request, reply)
      return reply
    }
  assets(http, pages)
  unsubscribeEndpoints(http, options, by)
  preferencesEndpoints(http, options, by)
}

/** Forms are read; whatever else a mail program posts, `multipart/form-data` for one (RFC 8058 §3.2), is taken as text. */
function takeForms(http: Http): void {
  const limits = { parseAs: 'string', bodyLimit: mostBytes } as const
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/x-www-form-urlencoded', limits, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )
  http.addContentTypeParser('*', limits, (_request, body, done) => done(null, String(body)))
}

const oneClickField = /List-Unsubscribe["=\s]+One-Click/i

type Asked = FastifyRequest<{ Params: { token: string } }>
type By = (
  purpose: LinkPurpose,
  answer: (about: readonly string[], request: Asked, reply: FastifyReply) => Promise<unknown>,
) => (request: Asked, reply: FastifyReply) => Promise<unknown>

/** What the API document says about a page, and what it answers besides. */
function route(id: OperationId, more: object = {}) {
  const response: object = { 200: htmlAnswer('The page.'), 404: NoLink, ...more }
  const about = { tags: ['subscriptions'], ...operation(id), security: [] }
  return { bodyLimit: mostBytes, schema: { ...about, params: Token, response } }
}

function assets(http: Http, { branding }: PageParts): void {
  for (const [name, type, text] of [
    ['style.css', 'text/css; charset=utf-8', styleSheet(branding)],
    ['icon.svg', 'image/svg+xml', icon(branding)],
  ] as const)
    http.get(`${subscriptionAssets}/${name}`, { schema: { hide: true } }, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=300').type(type).send(text),
    )
}

function unsubscribeEndpoints(http: Http, { links, pages, choices }: SubscriptionRoutes, by: By): void {
  const titleFor = async (texts: Texts, userId: string, event: string) => {
    const choice = (await choices.of(userId)).choices.find((each) => each.event === event)
    return choice ? titleIn(texts, choice) : event
  }
  http.get(
    '/unsubscribe/:token',
    route('unsubscribePage.show'),
    by('unsubscribe', async ([userId = '', event = ''], request, reply) => {
      const texts = textsFor(pages, request)
      sendPage(pages, reply, texts, unsubscribePage(texts, request.url, await titleFor(texts, userId, event)))
    }),
  )
  http.post(
    '/unsubscribe/:token',
    route('unsubscribePage.submit'),
    by('unsubscribe', async ([userId = '', event = ''], request, reply) => {
      const oneClick = oneClickField.test(String(request.body ?? ''))
      await choices.unsubscribe(userId, event, oneClick ? 'one-click, from a mail' : 'on the page, from a mail')
      const texts = textsFor(pages, request)
      const preferences = links.url('preferences', [userId])
      sendPage(pages, reply, texts, unsubscribedPage(texts, await titleFor(texts, userId, event), preferences))
    }),
  )
}

function preferencesEndpoints(http: Http, given: SubscriptionRoutes, by: By): void {
  const { links, pages, choices } = given
  const show = async (userId: string, texts: Texts, request: Asked, reply: FastifyReply, sent?: Sent) =>
    sendPage(
      pages,
      reply,
      texts,
      preferencesPage(texts, request.url.split('?', 1)[0] ?? '', await choices.of(userId), sent),
    )
  http.get(
    '/preferences/:token',
    route('preferencesPage.show'),
    by('preferences', ([userId = ''], request, reply) => show(userId, textsFor(pages, request), request, reply)),
  )
  http.post(
    '/preferences/:token',
    route('preferencesPage.submit', {
      403: htmlAnswer('A page: the form came from another site.'),
      415: problemAnswer('The body is not a form.'),
    }),
    by('preferences', async ([userId = ''], request, reply) => {
      const texts = textsFor(pages, request)
      if (!isOwnForm(request, links.baseUrl)) return sendPage(pages, reply, texts, { ...linkFault(texts), status: 403 })
      const form = request.body
      if (!(form instanceof URLSearchParams))
        throw new Problem(415, 'The body must be application/x-www-form-urlencoded, as the page sends it.')
      const note = await save(given, userId, form)
      return show(userId, texts, request, reply, note === 'saved' ? { note } : { note, form })
    }),
  )
}

/** The form came from our own page, as far as the browser tells. */
function isOwnForm({ headers }: Asked, baseUrl: string): boolean {
  const { origin, host } = headers
  const own = origin === undefined || origin === new URL(baseUrl).origin || URL.parse(origin)?.host === host
  return own && headers['sec-fetch-site'] !== 'cross-site'
}

async function save(
  { choices, recipients, clock }: SubscriptionRoutes,
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
