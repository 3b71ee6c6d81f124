import { randomUUIDv7 } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Parts } from '../context/context.ts'
import { longestAccessTokenMs } from '../model/revocation-times.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, userAgentOf } from '../sessions/browser.ts'

/** Writes the grant and its authorization code, and answers the code (RFC 6749 §4.1.2). @throws PageError 400 when the session has ended meanwhile */
export async function issueCode(
  parts: Pick<Parts, 'store' | 'clock' | 'lifetimes'>,
  request: FastifyRequest,
  asked: AuthorizationRequest,
  { session, user }: NonNullable<Browser['signedIn']>,
): Promise<string> {
  const code = randomToken()
  const now = parts.clock.now()
  const codeExpiresAt = now + parts.lifetimes.authorizationCode * 1000
  const opened = await parts.store.grants.open(
    {
      id: randomUUIDv7(),
      userId: user.id,
      clientId: asked.client.id,
      sessionId: session.id,
      scopes: asked.scopes,
      resources: asked.resources,
      claims: asked.claims,
      authTime: session.authTime,
      amr: session.amr,
      userAgent: userAgentOf(request),
      createdAt: now,
      expiresAt: codeExpiresAt + longestAccessTokenMs,
      revokedAt: undefined,
    },
    {
      hash: tokenHash(code),
      clientId: asked.client.id,
      redirectUri: asked.redirectUri,
      codeChallenge: asked.codeChallenge,
      nonce: asked.nonce,
      createdAt: now,
      expiresAt: codeExpiresAt,
    },
  )
  if (!opened) throw new PageError(400, 'error.stale')
  return code
}
