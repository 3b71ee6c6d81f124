import { setTimeout } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { hideTokens } from '../links/links.ts'
import { uncheckedMs } from '../model/erasure.ts'
import type { UserParams } from '../request/schemas.ts'
import type { Privacy } from '../store/store.ts'

/** What the endpoints of a user's data need. */
export interface PrivacyContext {
  readonly audit: Audit
  readonly store: Privacy
  readonly publicUrl: string
}

type UserRequest = FastifyRequest<{ Params: Static<typeof UserParams> }>

/** GET /v1/users/{id}/data: everything that is stored about a user. Links of messages are without their tokens. */
export function exportUser({ audit, store, publicUrl }: PrivacyContext) {
  return async (request: UserRequest) => {
    const { id } = request.params
    await audit(request, { action: 'users.export', target: { type: 'user', id } })
    const stored = Object.entries(await store.exportUser(id))
    const data = Object.fromEntries(
      stored.map(([table, rows]) => [table, rows.map((row) => withoutTokens(row as object, publicUrl))]),
    )
    return { user_id: id, data } as never
  }
}

/** A row, its message without the tokens of links: who has one may change what the user receives. */
function withoutTokens(row: { readonly message?: unknown }, publicUrl: string): object {
  if (!row.message) return row
  return { ...row, message: JSON.parse(hideTokens(JSON.stringify(row.message), publicUrl)) }
}

/** DELETE /v1/users/{id}/data: erases it; answers once no further call to a provider can begin. */
export function eraseUser({ audit, store }: PrivacyContext) {
  return async (request: UserRequest) => {
    const { id } = request.params
    await audit(request, { action: 'users.erase', target: { type: 'user', id } })
    const removed = await store.eraseUser(id)
    // Calls that were about to begin have begun by then; every later one checks the store first.
    await setTimeout(uncheckedMs)
    return { removed }
  }
}
