import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { Parts } from '../../context/context.ts'
import { revocationTimes } from '../../model/revocation-times.ts'
import { endSession } from '../../sessions/end-session.ts'
import { type Authority, record } from '../authority.ts'
import type { consentAnswer, sessionAnswer } from '../responses.ts'
import { userUnder } from './users.ts'

/** What a user let a client do. */
export type ConsentAnswer = Static<typeof consentAnswer>

/** Where a user is signed in. */
export type SessionAnswer = Static<typeof sessionAnswer>

export async function listConsents({ store }: Parts, userId: string): Promise<ConsentAnswer[]> {
  return (await store.consents.ofUser(userId)).map(({ clientId, scopes, resources, claims, grantedAt }) => {
    return {
      client_id: clientId,
      scopes: [...scopes],
      resources: [...resources],
      claims: [...claims],
      granted_at: new Date(grantedAt).toISOString(),
    }
  })
}

/** Forgets the consent and ends what the client was granted. @throws Problem 403, 404, 503 */
export async function withdrawConsent(parts: Parts, by: Authority, userId: string, clientId: string): Promise<void> {
  await userUnder(parts, by, userId)
  const before = { client_id: clientId }
  await record(parts, by, { action: 'consents.withdraw', target: { type: 'user', id: userId }, before })
  await parts.store.grants.withdraw(userId, clientId, revocationTimes(parts))
}

export async function listSessions({ store, clock }: Parts, userId: string): Promise<SessionAnswer[]> {
  return (await store.sessions.ofUser(userId, clock.now())).map((session) => ({
    id: session.id,
    user_agent: session.userAgent,
    address: session.address,
    created_at: new Date(session.createdAt).toISOString(),
    seen_at: new Date(session.seenAt).toISOString(),
  }))
}

/** Signs a user out of one browser. @throws Problem 403, 404, 503 */
export async function endSessionOf(parts: Parts, by: Authority, userId: string, sessionId: string): Promise<void> {
  await userUnder(parts, by, userId)
  const sessions = await parts.store.sessions.ofUser(userId, parts.clock.now())
  if (!sessions.some(({ id }) => id === sessionId)) throw noSession()
  const before = { session_id: sessionId }
  await record(parts, by, { action: 'sessions.end', target: { type: 'user', id: userId }, before })
  if (!(await endSession(parts, sessionId, userId))) throw noSession()
}

const noSession = () => new Problem(404, 'There is no such session.')
