import { createHash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Clock, type Http, Problem } from '@gatehouse/kit'
import {
  type Branding,
  Languages,
  type PageParts,
  type SiteLink,
  sendPage,
  serveAssets,
  textsFor,
} from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Reports } from '../context/reports.ts'
import { channels } from '../model/channel.ts'
import { notificationIdOf } from '../model/id.ts'
import type { Devices, Mailbox, MailboxEntry, Notifications } from '../store/store.ts'
import { type MailboxAction, mailboxActions } from './actions.ts'
import { formatEntry } from './entry-format.ts'
import { framePolicy, mailDocument, schemes } from './mail-frame.ts'
import { type Filter, type Look, mailboxPath, type Shown } from './view.ts'

/** What the development mailbox needs. */
export interface MailboxContext {
  readonly mailbox: Mailbox
  readonly reports: Reports
  readonly devices: Devices
  readonly notifications: Notifications
  readonly clock: Clock
  readonly pages: Pick<PageParts, 'branding'>
  readonly languages: () => Languages
  /** The pages beside it, in a language. */
  readonly devLinks: (locale: string) => readonly SiteLink[]
}

const maxListed = 1_000
/** Messages on one page. */
const pageSize = 50
const assets = new URL('assets/', import.meta.url)

const Query = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: maxListed })),
    channel: Type.Optional(Type.Union([Type.Enum([...channels]), Type.Literal('')])),
    user: Type.Optional(Type.String({ maxLength: 300 })),
    before: Type.Optional(Type.String({ maxLength: 600 })),
    scheme: Type.Optional(Type.Enum([...schemes])),
    width: Type.Optional(Type.Enum(['wide', 'phone'])),
  },
  { additionalProperties: false },
)
const Params = Type.Object({ id: Type.String({ maxLength: 600 }) })
const ReportParams = Type.Object({ ...Params.properties, action: Type.Enum([...mailboxActions]) })
type PageRequest = FastifyRequest<{ Querystring: Static<typeof Query>; Params: Partial<Static<typeof Params>> }>

/** GET /dev/mailbox */
export const listMailboxSchema = { hide: true, querystring: Query }

/** GET /dev/mailbox/{id}, /dev/mailbox/{id}/html */
export const showMessageSchema = { hide: true, querystring: Query, params: Params }

/** POST /dev/mailbox/{id}/{action} */
export const answerMailboxSchema = {
  hide: true,
  params: ReportParams,
  response: { 200: Type.Object({ changed: Type.Boolean() }), 303: Type.Null() },
}

/** The words of its pages, read when the first is asked for. */
export function readTexts({ textsFolder }: Branding): () => Languages {
  let languages: Languages | undefined
  return () => {
    languages ??= new Languages(new URL('texts/', import.meta.url), textsFolder)
    return languages
  }
}

/** What all its paths have in common: the forms have no fields, and a page that did not change is not sent again. */
export function prepareMailbox(http: Http, { pages }: Pick<MailboxContext, 'pages'>): void {
  serveAssets(http, { path: `${mailboxPath}/assets`, folder: assets, branding: pages.branding })
  http.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, _body, done) =>
    done(null, undefined),
  )
  http.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || !String(reply.getHeader('content-type')).startsWith('text/html')) return payload
    const tag = `"${createHash('sha256').update(payload).digest('base64url')}"`
    reply.header('etag', tag)
    if (reply.statusCode !== 200 || request.headers['if-none-match'] !== tag) return payload
    reply.code(304)
    return null
  })
}

/**
 * GET /dev/mailbox, /dev/mailbox/{id}: what was sent on every channel, as a page or (Accept: application/json) as data.
 * Embedded mode only: it authenticates nobody.
 */
export function showMailbox(context: MailboxContext) {
  return async (request: PageRequest, reply: FastifyReply) => {
    const { limit, channel, user, before } = request.query
    const filter: Filter = { channel: channel || undefined, user: user || undefined, before }
    const json = prefersJson(request.headers.accept)
    const entries = await context.mailbox.list({
      limit: json ? (limit ?? maxListed) : pageSize + 1,
      ...(filter.channel === undefined ? {} : { channel: filter.channel }),
      ...(filter.user === undefined ? {} : { userId: filter.user }),
      ...(before === undefined ? {} : { before }),
    })
    const standings = await context.mailbox.standings(entries)
    if (json) return reply.send({ messages: entries.map((entry) => formatEntry(entry, standings.get(entry.id))) })
    const { mailboxPage } = await import('./page.ts')
    const { branding } = context.pages
    const languages = context.languages()
    const texts = textsFor({ branding, languages }, request)
    const page = mailboxPage(
      {
        texts,
        entries: entries.slice(0, pageSize),
        standings,
        filter,
        hasMore: entries.length > pageSize,
        shown: await findShown(context, request),
        links: context.devLinks(texts.locale),
        brand: branding.name,
      },
      context.clock.now(),
    )
    return sendPage({ branding, languages, assets: `${mailboxPath}/assets` }, reply, texts, page)
  }
}

/** GET /dev/mailbox/{id}/html: an HTML mail by itself, for a frame in which it can do nothing. */
export function showMailDocument({ mailbox }: MailboxContext) {
  return async (request: PageRequest, reply: FastifyReply) => {
    const { content } = await findEntry(mailbox, request.params.id ?? '')
    if (content.html === undefined) throw new Problem(404, 'The message has no HTML part.')
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', framePolicy)
      .header('x-frame-options', 'SAMEORIGIN')
      .header('referrer-policy', 'no-referrer')
      .header('x-dns-prefetch-control', 'off')
      .header('cache-control', 'no-store')
      .send(mailDocument(content.html, lookOf(request.query).scheme))
  }
}

/** POST /dev/mailbox/{id}/{action}: reports on a message as its provider would. */
export function answerMailbox(context: MailboxContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof ReportParams> }>, reply: FastifyReply) => {
    const entry = await findEntry(context.mailbox, request.params.id)
    const changed = await reportAs(context, entry, request.params.action as MailboxAction)
    if (prefersJson(request.headers.accept)) return { changed }
    return reply
      .code(303)
      .header('location', `${mailboxPath}/${encodeURIComponent(entry.id)}`)
      .send(null)
  }
}

async function findEntry(mailbox: Mailbox, id: string): Promise<MailboxEntry> {
  const entry = await mailbox.find(id)
  if (!entry) throw new Problem(404, `The mailbox has no message ${id}.`)
  return entry
}

async function findShown(context: MailboxContext, { params, query }: PageRequest): Promise<Shown | undefined> {
  if (params.id === undefined) return undefined
  const { mailbox, notifications } = context
  const entry = await findEntry(mailbox, params.id)
  const record = await notifications.find(notificationIdOf(entry.deliveryId))
  const deliveryIds = (record?.deliveries ?? []).flatMap(({ id }) => id ?? [])
  const related = deliveryIds.length === 0 ? [] : await mailbox.list({ limit: pageSize, deliveryIds })
  const standings = await mailbox.standings([entry])
  return {
    entry,
    standing: standings.get(entry.id),
    record,
    siblings: related.filter(({ id }) => id !== entry.id),
    look: lookOf(query),
  }
}

const lookOf = ({ scheme = 'light', width = 'wide' }: Static<typeof Query>): Look => ({ scheme, width }) as Look

async function reportAs(
  { reports, devices, clock }: MailboxContext,
  { userId, address, deliveryId }: MailboxEntry,
  action: MailboxAction,
): Promise<boolean> {
  const at = clock.now()
  if (action === 'unregistered') return devices.markDead(userId, address, at, 'Unregistered')
  const [outcome] = await reports.record('mailbox', [{ eventId: randomUUID(), deliveryId, report: action, at }])
  return outcome === 'changed'
}

/** What a browser says of a request from the page itself, or from the address bar. */
const ownSites = new Set(['same-origin', 'none'])

/** @throws Problem 403 for a form of another site: the mailbox authenticates nobody, and a browser would submit it */
export function refuseForeign({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
  const own = site === undefined ? origin === undefined || URL.parse(origin)?.host === host : ownSites.has(site)
  if (!own) throw new Problem(403, `The mailbox takes no answers from other sites, and ${origin ?? 'this'} is one.`)
}

function prefersJson(accept: string | undefined): boolean {
  return accept !== undefined && !accept.includes('text/html') && /application\/(\w+\+)?json/.test(accept)
}
