import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { revocationTimes } from '../../model/grants/revocation-times.ts'
import { endSession } from '../../sessions/end-session.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { consentSchema, grantSchema } from '../responses.ts'
import { formatSession, type SessionResponse } from '../sessions/sessions.ts'
import { findChangeableUser } from './users.ts'

/** A user's consent to a client, as management returns it. */
export type ConsentResponse = Static<typeof consentSchema>

/** A grant of a user, as management returns it. */
export type GrantResponse = Static<typeof grantSchema>

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

const maxSessions = 500

/** Lists the sessions of a user; `own` is that of the caller. */
export async function listSessions(
  { store, clock }: AdminContext,
  userId: string,
  own?: string,
): Promise<SessionResponse[]> {
  const sessions = await store.sessionDirectory.list({ userId }, undefined, maxSessions, clock.now())
  return sessions.map((session) => formatSession(session, own))
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

/** Lists the active grants of a user: which client has access, on which device. */
export async function listGrants({ store, clock }: AdminContext, userId: string): Promise<GrantResponse[]> {
  return (await store.grants.listByUser(userId, clock.now())).map((grant) => ({
    id: grant.id,
    client_id: grant.clientId,
    ...(grant.sessionId === undefined ? {} : { session_id: grant.sessionId }),
    ...(grant.organizationId === undefined ? {} : { organization_id: grant.organizationId }),
    user_agent: grant.userAgent,
    scopes: [...grant.scopes],
    resources: [...grant.resources],
    created_at: new Date(grant.createdAt).toISOString(),
    last_used_at: new Date(grant.usedAt).toISOString(),
    expires_at: new Date(grant.expiresAt).toISOString(),
  }))
}

/** Ends a grant with its tokens; the consent stays. @throws Problem 403, 404, 503 */
export async function endGrant(context: AdminContext, by: Authority, userId: string, grantId: string): Promise<void> {
  await findChangeableUser(context, by, userId)
  const found = await context.store.grants.find(grantId)
  if (found?.grant.userId !== userId || found.grant.revokedAt !== undefined) throw grantNotFound()
  const before = { grant_id: grantId, client_id: found.grant.clientId }
  await auditChange(context, by, { action: 'grants.end', target: { type: 'user', id: userId }, before })
  if (!(await context.store.grants.revoke(grantId, revocationTimes(context)))) throw grantNotFound()
}

const grantNotFound = () => new Problem(404, 'There is no such grant.')
