import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Clock, type Http, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Reports } from '../context/reports.ts'
import type { Devices, Mailbox, MailboxEntry, MailboxStanding } from '../store/store.ts'
import { anchorOf, type MailboxAction, mailboxActions, mailboxPage, pagePolicy } from './page.ts'

/** What the development mailbox needs. */
export interface MailboxContext {
  readonly mailbox: Mailbox
  readonly reports: Reports
  readonly devices: Devices
  readonly clock: Clock
}

const maxShown = 1_000

const Query = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: maxShown })) },
  { additionalProperties: false },
)
const Params = Type.Object({ id: Type.String({ maxLength: 600 }), action: Type.Enum([...mailboxActions]) })

/** GET /dev/mailbox */
export const listMailboxSchema = { hide: true, querystring: Query }

/** POST /dev/mailbox/{id}/{action} */
export const answerMailboxSchema = {
  hide: true,
  params: Params,
  response: { 200: Type.Object({ changed: Type.Boolean() }), 303: Type.Null() },
}

/** The forms of the page have no fields: their URL says everything. */
export function addEmptyFormParser(http: Http): void {
  http.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, _body, done) =>
    done(null, undefined),
  )
}

/**
 * GET /dev/mailbox: what was sent on every channel, as a page or (Accept: application/json) as data. Embedded mode only:
 * it authenticates nobody.
 */
export function listMailbox({ mailbox }: MailboxContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof Query> }>, reply: FastifyReply) => {
    const entries = await mailbox.list(request.query.limit ?? maxShown)
    const standings = await mailbox.standings(entries)
    if (prefersJson(request.headers.accept))
      return reply.send({ messages: entries.map((entry) => formatEntry(entry, standings.get(entry.id))) })
    return (
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', pagePolicy)
        // Without a referrer the page's own forms would have the origin "null".
        .header('referrer-policy', 'same-origin')
        .send(mailboxPage(entries, standings))
    )
  }
}

/** POST /dev/mailbox/{id}/{action}: reports on a message as its provider would. */
export function answerMailbox(context: MailboxContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof Params> }>, reply: FastifyReply) => {
    const entry = await context.mailbox.find(request.params.id)
    if (!entry) throw new Problem(404, `The mailbox has no message ${request.params.id}.`)
    const changed = await reportAs(context, entry, request.params.action as MailboxAction)
    if (prefersJson(request.headers.accept)) return { changed }
    return reply
      .code(303)
      .header('location', `/dev/mailbox#${anchorOf(entry.id)}`)
      .send(null)
  }
}

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

function formatEntry(
  { id, deliveryId, userId, channel, address, content, at }: MailboxEntry,
  standing: MailboxStanding | undefined,
) {
  const { receiptToken, ...shown } = content
  return {
    id,
    delivery_id: deliveryId,
    user_id: userId,
    channel,
    address,
    ...shown,
    ...(receiptToken === undefined ? {} : { receipt_token: receiptToken }),
    at: new Date(at).toISOString(),
    ...(standing?.state === undefined ? {} : { state: standing.state }),
    ...(standing?.deadToken ? { dead_token: true } : {}),
  }
}
