import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { revocationTimes } from '../../model/revocation-times.ts'
import { endSession } from '../../sessions/end-session.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { consentSchema, sessionSchema } from '../responses.ts'
import { findChangeableUser } from './users.ts'

/** A user's consent to a client, as management returns it. */
export type ConsentResponse = Static<typeof consentSchema>

/** A session of a user, as management returns it. */
export type SessionResponse = Static<typeof sessionSchema>

/** Lists what a user allowed each client. */
export async function listConsents({ store }: AdminContext, userId: string): Promise<ConsentResponse[]> {
  return (await store.consents.listByUser(userId)).map(({ clientId, scopes, resources, claims, grantedAt }) => {
    return {
      client_id: clientId,
      scopes: [...scopes],
      resources: [...resources],
      claims: [...claims],
      granted_at: new Date(grantedAt).toISOString(),
    }
  })
}

/** Deletes the consent and revokes the client's grants. @throws Problem 403, 404, 503 */
export async function withdrawConsent(
  context: AdminContext,
  by: Authority,
  userId: string,
  clientId: string,
): Promise<void> {
  await findChangeableUser(context, by, userId)
  const before = { client_id: clientId }
  await auditChange(context, by, { action: 'consents.withdraw', target: { type: 'user', id: userId }, before })
  await context.store.grants.withdraw(userId, clientId, revocationTimes(context))
}

/** Lists the sessions of a user, the most recently used first. */
export async function listSessions({ store, clock }: AdminContext, userId: string): Promise<SessionResponse[]> {
  return (await store.sessions.listByUser(userId, clock.now())).map((session) => ({
    id: session.id,
    user_agent: session.userAgent,
    address: session.address,
    created_at: new Date(session.createdAt).toISOString(),
    seen_at: new Date(session.seenAt).toISOString(),
  }))
}

/** Signs a user out of one browser. @throws Problem 403, 404, 503 */
export async function endUserSession(
  context: AdminContext,
  by: Authority,
  userId: string,
  sessionId: string,
): Promise<void> {
  await findChangeableUser(context, by, userId)
  const sessions = await context.store.sessions.listByUser(userId, context.clock.now())
  if (!sessions.some(({ id }) => id === sessionId)) throw sessionNotFound()
  const before = { session_id: sessionId }
  await auditChange(context, by, { action: 'sessions.end', target: { type: 'user', id: userId }, before })
  if (!(await endSession(context, sessionId, userId))) throw sessionNotFound()
}

const sessionNotFound = () => new Problem(404, 'There is no such session.')
