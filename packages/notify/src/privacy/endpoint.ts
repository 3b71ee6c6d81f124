import { setTimeout } from 'node:timers/promises'
import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { uncheckedMs } from '../model/erasure.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Privacy } from '../store/store.ts'

const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) })

/** /v1/users/{id}/data: everything that is known about a user, to be handed out or erased. */
export function privacyEndpoints(http: Http, access: AccessControl, store: Privacy, audit: Audit): void {
  const about = (id: OperationId) => ({ tags: ['privacy'], ...operation(id), security: access.security('privacy') })

  http.get(
    '/v1/users/:id/data',
    {
      onRequest: access.allow('privacy'),
      schema: {
        ...about('userData.export'),
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
      onRequest: access.allow('privacy'),
      schema: {
        ...about('userData.erase'),
        params: User,
        response: { 200: Type.Object({ removed: Type.Integer() }) },
      },
    },
    async (request) => {
      const { id } = request.params
      await audit(request, { action: 'users.erase', target: { type: 'user', id } })
      const removed = await store.eraseUser(id)
      // Calls that were about to begin have begun by then, and no others will.
      await setTimeout(uncheckedMs)
      return { removed }
    },
  )
}
