import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import { endSession } from '../end-session.ts'
import type { Parts } from '../parts.ts'
import { revocationTimes } from '../revocation-times.ts'
import type { consentAnswer, sessionAnswer } from './answers.ts'

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

/** Forgets the consent and ends what the client was granted. */
export async function withdrawConsent(parts: Parts, userId: string, clientId: string): Promise<void> {
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

/** Signs a user out of one browser. @throws Problem 404 */
export async function endSessionOf(parts: Parts, userId: string, sessionId: string): Promise<void> {
  const known = /^[0-9a-f-]{36}$/.test(sessionId) && (await endSession(parts, sessionId, userId))
  if (!known) throw new Problem(404, 'There is no such session.')
}
