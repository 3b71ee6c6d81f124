import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Audit } from '../audit.ts'
import type { Guards } from '../caller.ts'
import type { Privacy } from '../store.ts'

const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) })

/** /v1/users/{id}/data: everything that is known about a user, to be handed out or erased. */
export function privacyEndpoints(http: Http, guards: Guards, store: Privacy, audit: Audit): void {
  const about = (summary: string) => ({ tags: ['privacy'], summary, security: guards.security('privacy') })

  http.get(
    '/v1/users/:id/data',
    {
      onRequest: guards.allow('privacy'),
      schema: {
        ...about('Everything that is known about a user'),
        params: User,
        response: {
          200: Type.Object({ user_id: Type.String(), data: Type.Object({}, { additionalProperties: true }) }),
        },
      },
    },
    async (request) => {
      const { id } = request.params
      await audit(request, { action: 'users.export', target: { type: 'user', id } })
      return { user_id: id, data: await store.exportUser(id) } as never
    },
  )
  http.delete(
    '/v1/users/:id/data',
    {
      onRequest: guards.allow('privacy'),
      schema: {
        ...about('Erases everything that is known about a user; what is under way is not sent'),
        params: User,
        response: { 200: Type.Object({ removed: Type.Integer() }) },
      },
    },
    async (request) => {
      const { id } = request.params
      await audit(request, { action: 'users.erase', target: { type: 'user', id } })
      return { removed: await store.eraseUser(id) }
    },
  )
}
