import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Reports } from '../context/reports.ts'
import type { Devices, Mailbox, MailboxEntry, MailboxStanding } from '../store/store.ts'
import { anchorOf, type MailboxAction, mailboxActions, mailboxPage, pagePolicy } from './page.ts'

export interface MailboxRoutes {
  readonly mailbox: Mailbox
  readonly reports: Reports
  readonly devices: Devices
  readonly clock: Clock
}

const maxShown = 1_000

/**
 * /dev/mailbox: what was sent on every channel, as a page or (Accept: application/json) as data, and what the provider
 * answers. For the embedded mode only: it asks nobody who they are.
 */
export async function mailboxEndpoints(http: Http, { mailbox, reports, devices, clock }: MailboxRoutes): Promise<void> {
  http.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, _body, done) =>
    done(null, undefined),
  )

  http.get(
    '/dev/mailbox',
    {
      schema: {
        hide: true,
        querystring: Type.Object(
          { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: maxShown })) },
          { additionalProperties: false },
        ),
      },
    },
    async (request, reply) => {
      const entries = await mailbox.list(request.query.limit ?? maxShown)
      const standings = await mailbox.standings(entries)
      if (prefersJson(request.headers.accept))
        return reply.send({ messages: entries.map((entry) => formatEntry(entry, standings.get(entry.id))) })
      return (
        reply
          .type('text/html; charset=utf-8')
          .header('content-security-policy', pagePolicy)
          // With none at all the page's own forms would come from the origin "null".
          .header('referrer-policy', 'same-origin')
          .send(mailboxPage(entries, standings))
      )
    },
  )
  http.post(
    '/dev/mailbox/:id/:action',
    {
      onRequest: async ({ headers }) => refuseForeign(headers),
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ maxLength: 600 }), action: Type.Enum([...mailboxActions]) }),
        response: { 200: Type.Object({ changed: Type.Boolean() }), 303: Type.Null() },
      },
    },
    async (request, reply) => {
      const entry = await mailbox.find(request.params.id)
      if (!entry) throw new Problem(404, `The mailbox has no message ${request.params.id}.`)
      const changed = await answer(entry, request.params.action as MailboxAction)
      if (prefersJson(request.headers.accept)) return { changed }
      return reply
        .code(303)
        .header('location', `/dev/mailbox#${anchorOf(entry.id)}`)
        .send(null)
    },
  )

  const answer = async (entry: MailboxEntry, action: MailboxAction): Promise<boolean> => {
    const at = clock.now()
    if (action === 'unregistered') return devices.markDead(entry.userId, entry.address, at, 'Unregistered')
    const { deliveryId } = entry
    const [outcome] = await reports.record('mailbox', [{ eventId: randomUUID(), deliveryId, report: action, at }])
    return outcome === 'changed'
  }
}

/** What a browser says of a request of the page itself, or of one that was typed in. */
const ownSites = new Set(['same-origin', 'none'])

/** 403 for a form of another site: the mailbox asks nobody who they are, and a browser would send it along. */
function refuseForeign({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
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
