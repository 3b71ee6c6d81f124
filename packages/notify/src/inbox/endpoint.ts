import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { type Guards, notYours } from '../caller.ts'
import { idPattern } from '../ids.ts'
import type { Inbox, InboxItem } from '../store.ts'

const FeedBody = Type.Object({
  items: Type.Array(
    Type.Object({
      id: Type.String(),
      event: Type.String(),
      subject: Type.Optional(Type.String()),
      body: Type.String(),
      created_at: Type.String({ format: 'date-time' }),
      read_at: Type.Optional(Type.String({ format: 'date-time' })),
    }),
  ),
  /** Pass it as `before` to read on; absent on the last page. */
  next: Type.Optional(Type.String()),
})

/** GET /v1/users/{id}/inbox: the in-app feed, newest first. */
export function inboxEndpoint(http: Http, guards: Guards, inbox: Inbox): void {
  http.get(
    '/v1/users/:id/inbox',
    {
      schema: {
        tags: ['inbox'],
        summary: "A user's in-app feed, newest first",
        security: [
          { bearer: [guards.scopes.read] },
          { bearer: [guards.scopes.write] },
          { bearer: [guards.scopes.admin] },
        ],
        params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }),
        querystring: Type.Object(
          {
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
            before: Type.Optional(Type.String({ pattern: idPattern })),
          },
          { additionalProperties: false },
        ),
        response: { 200: FeedBody },
      },
    },
    async (request) => {
      const maySee = await guards.read(request)
      const { id } = request.params as { id: string }
      if (!maySee(id)) throw notYours()
      const { limit = 50, before } = request.query as { limit?: number; before?: string }
      const items = await inbox.list(id, limit, before)
      const last = items.at(-1)
      return { items: items.map(written), ...(items.length === limit && last ? { next: last.id } : {}) } as never
    },
  )
}

function written({ createdAt, readAt, ...item }: InboxItem): Record<string, unknown> {
  return {
    ...item,
    created_at: new Date(createdAt).toISOString(),
    ...(readAt === undefined ? {} : { read_at: new Date(readAt).toISOString() }),
  }
}
