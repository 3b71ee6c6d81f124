import type { Clock, Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Audit } from '../context/audit.ts'
import type { Reports } from '../context/reports.ts'
import { idPattern } from '../model/id.ts'
import { type InboxChange, inboxChanges } from '../model/inbox-change.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Inbox, InboxChoice, InboxFilter } from '../store/store.ts'
import { reportItemChange } from './reading.ts'
import { CountsRecord, countsRecord, ItemRecord, itemRecord, type ShowAllItems, type ShowItems } from './record.ts'

const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) })
const Id = Type.String({ pattern: idPattern, description: 'A UUID that this API issued.' })
const Before = Type.String({ pattern: idPattern, description: 'The `next` of the previous page.' })

const Feed = Type.Object({
  items: Type.Array(ItemRecord),
  counts: CountsRecord,
  /** Pass it as `before` to read on; absent on the last page. */
  next: Type.Optional(Type.String()),
})

const Choice = Type.Union([
  Type.Object(
    { ids: Type.Array(Id, { minItems: 1, maxItems: 200, uniqueItems: true, description: 'These items' }) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      all: Type.Literal(true, { description: 'Every item that is not archived; of unarchived, every one that is' }),
      up_to: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Only those that had arrived when counts.sequence was this: what came meanwhile stays as it is',
        }),
      ),
    },
    { additionalProperties: false },
  ),
])

const Changed = Type.Object({ changed: Type.Integer({ description: 'How many items' }), counts: CountsRecord })

export interface InboxRoutes {
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

/** /v1/users/{id}/inbox: the in-app feed, its counts, and what is done to its items. */
export function inboxEndpoints(http: Http, { access, audit, inbox, reports, masked, shown, clock }: InboxRoutes): void {
  const toRead = { tags: ['inbox'], security: access.security('readFeed') }
  const toChange = { tags: ['inbox'], security: access.security('changeOwn') }

  http.get(
    '/v1/users/:id/inbox',
    {
      onRequest: access.allowUnder('readFeed'),
      schema: {
        ...toRead,
        ...operation('inbox.list'),
        params: User,
        querystring: Type.Object(
          {
            limit: Type.Optional(
              Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'The most items of a page.' }),
            ),
            before: Type.Optional(Before),
            unread: Type.Optional(Type.Boolean({ default: false, description: 'Only what is not read' })),
            archived: Type.Optional(
              Type.Enum(['exclude', 'only', 'include'], { default: 'exclude', description: 'Whether archived items' }),
            ),
          },
          { additionalProperties: false },
        ),
        response: { 200: Feed },
      },
    },
    async (request) => {
      const filter = filterOf(request.query)
      const { items, counts } = await inbox.page(request.params.id, { ...filter, limit: filter.limit + 1 })
      const page = items.slice(0, filter.limit)
      const next = items.length > page.length ? { next: page.at(-1)?.id } : {}
      const show = access.masks(request, request.params.id) ? masked : shown
      return { items: (await show(page)).map(itemRecord), counts: countsRecord(counts), ...next } as never
    },
  )
  http.get(
    '/v1/users/:id/inbox/counts',
    {
      onRequest: access.allowUnder('readFeed'),
      schema: {
        ...toRead,
        ...operation('inbox.count'),
        params: User,
        response: { 200: CountsRecord },
      },
    },
    async (request) => {
      const { id } = request.params
      return countsRecord((await inbox.news([{ userId: id }], 1)).get(id)?.counts ?? none) as never
    },
  )

  for (const change of inboxChanges) {
    http.post(
      `/v1/users/:id/inbox/${change}`,
      {
        onRequest: access.allowUnder('changeOwn'),
        schema: {
          ...toChange,
          ...operation(operations[change]),
          params: User,
          body: Choice,
          response: { 200: Changed },
        },
      },
      async (request) => {
        const { params, body, log } = request
        const choice: InboxChoice = 'ids' in body ? body : body.up_to === undefined ? {} : { upTo: body.up_to }
        if (access.manages(request, params.id))
          await audit(request, { action: `inbox.${change}`, target: { type: 'user', id: params.id }, after: body })
        const { changed, counts } = await inbox.change(params.id, change, choice, clock.now())
        reportItemChange(reports, change, changed, clock.now()).catch((error) =>
          log.warn({ err: error }, 'that items were seen or read could not be stored with their notifications'),
        )
        return { changed: changed.length, counts: countsRecord(counts) } as never
      },
    )
  }
}

const none = { sequence: 0, total: 0, unseen: 0, unread: 0 }

const operations: Readonly<Record<InboxChange, OperationId>> = {
  seen: 'inbox.markSeen',
  read: 'inbox.markRead',
  unread: 'inbox.markUnread',
  archived: 'inbox.archive',
  unarchived: 'inbox.unarchive',
}

interface FeedQuery {
  readonly limit?: number
  readonly before?: string
  readonly unread?: boolean
  readonly archived?: string
}

function filterOf({ limit = 50, before, unread = false, archived }: FeedQuery): InboxFilter {
  return {
    limit,
    unread,
    ...(before === undefined ? {} : { before }),
    ...(archived === 'only' ? { archived } : archived === 'include' ? { archived: 'also' } : {}),
  }
}
