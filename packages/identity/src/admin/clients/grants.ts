import type { Static } from 'typebox'
import type { clientGrantSchema } from '../responses.ts'
import { type ClientContext, findClient } from './clients.ts'

/** A grant of a client, as management returns it. */
export type ClientGrantResponse = Static<typeof clientGrantSchema>

/** Lists the grants of a client that are in force, the newest first. @throws Problem 404 */
export async function listClientGrants(
  { store, clock }: ClientContext,
  id: string,
  before: string | undefined,
  limit: number,
): Promise<ClientGrantResponse[]> {
  await findClient(store, id)
  const grants = await store.grants.listByClient(id, { before, limit }, clock.now())
  return grants.map((grant) => ({
    id: grant.id,
    user_id: grant.userId,
    scopes: [...grant.scopes],
    resources: [...grant.resources],
    created_at: new Date(grant.createdAt).toISOString(),
    expires_at: new Date(grant.expiresAt).toISOString(),
  }))
}
