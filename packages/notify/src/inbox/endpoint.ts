import { type Clock, defaultPageSize } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import type { Reports } from '../context/reports.ts'
import type { InboxChange } from '../model/notification/inbox-change.ts'
import type { AccessControl } from '../request/caller.ts'
import type { UserParams } from '../request/schemas.ts'
import type { Inbox, InboxChoice, InboxFilter } from '../store/store.ts'
import { reportItemChange } from './reading.ts'
import { countsRecord, itemRecord, type ShowAllItems, type ShowItems } from './record.ts'
import type { FeedQuery, ItemSelection } from './schema.ts'

/** What the endpoints of the inbox need. */
export interface InboxContext {
  readonly access: AccessControl
  readonly audit: Audit
  /** How items are shown to callers who may not read personal data. */
  readonly masked: ShowItems
  /** How they are shown to the others. */
  readonly shown: ShowAllItems
  readonly inbox: Inbox
  readonly reports: Reports
  readonly clock: Clock
}

type UserRequest = FastifyRequest<{ Params: Static<typeof UserParams> }>

/** GET /v1/users/{id}/inbox: the in-app feed, the newest first. */
export function listItems({ access, inbox, masked, shown }: InboxContext) {
  return async (
    request: FastifyRequest<{ Params: Static<typeof UserParams>; Querystring: Static<typeof FeedQuery> }>,
  ) => {
    const { id } = request.params
    const filter = parseFilter(request.query)
    const { items, counts } = await inbox.page(id, { ...filter, limit: filter.limit + 1 })
    const page = items.slice(0, filter.limit)
    const next = items.length > page.length ? { next: page.at(-1)?.id } : {}
    const show = access.masks(request, id) ? masked : shown
    return { items: (await show(page)).map(itemRecord), counts: countsRecord(counts), ...next } as never
  }
}

/** GET /v1/users/{id}/inbox/counts */
export function countItems({ inbox }: InboxContext) {
  return async ({ params }: UserRequest) => {
    const news = await inbox.news([{ userId: params.id }], 1)
    return countsRecord(news.get(params.id)?.counts ?? emptyCounts) as never
  }
}

/** POST /v1/users/{id}/inbox/{change}: marks items as seen, read, unread, archived or unarchived. */
export function changeItems({ access, audit, inbox, reports, clock }: InboxContext, change: InboxChange) {
  return async (request: FastifyRequest<{ Params: Static<typeof UserParams>; Body: Static<typeof ItemSelection> }>) => {
    const { params, body, log } = request
    const choice: InboxChoice = 'ids' in body ? body : body.up_to === undefined ? {} : { upTo: body.up_to }
    if (access.manages(request, params.id))
      await audit(request, { action: `inbox.${change}`, target: { type: 'user', id: params.id }, after: body })
    const { changed, counts } = await inbox.change(params.id, change, choice, clock.now())
    reportItemChange(reports, change, changed, clock.now()).catch((error) =>
      log.warn({ err: error }, 'a report that inbox items were seen or read could not be stored'),
    )
    return { changed: changed.length, counts: countsRecord(counts) } as never
  }
}

const emptyCounts = { sequence: 0, total: 0, unseen: 0, unread: 0 }

function parseFilter({
  limit = defaultPageSize,
  cursor,
  unread = false,
  archived,
}: Static<typeof FeedQuery>): InboxFilter {
  return {
    limit,
    unread,
    ...(cursor === undefined ? {} : { before: cursor }),
    ...(archived === 'only' ? { archived } : archived === 'include' ? { archived: 'also' } : {}),
  }
}
