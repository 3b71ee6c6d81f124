import { randomUUIDv7 } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { AuthorizeContext } from '../context/features.ts'
import { maxAccessTokenMs } from '../model/grants/revocation-times.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, readUserAgent } from '../sessions/browser.ts'

/** Who granted what the code is for. */
interface Grantor extends NonNullable<Browser['signedIn']> {
  /** The hash of the pushed request that is used up by the code (RFC 9126 §7.3). */
  readonly pushed: string | undefined
}

/**
 * Stores the grant with its authorization code and returns the code (RFC 6749 §4.1.2).
 * @throws PageError 400 when the session has ended meanwhile, or the pushed request led to another code
 */
export async function issueCode(
  context: Pick<AuthorizeContext, 'store' | 'clock' | 'lifetimes'>,
  request: FastifyRequest,
  authorization: AuthorizationRequest,
  { session, user, pushed }: Grantor,
): Promise<string> {
  const code = randomToken()
  const now = context.clock.now()
  const codeExpiresAt = now + context.lifetimes.authorizationCode * 1000
  const opened = await context.store.grants.open(
    {
      id: randomUUIDv7(),
      userId: user.id,
      clientId: authorization.client.id,
      sessionId: session.id,
      organizationId: authorization.membership?.organization.id,
      scopes: authorization.scopes,
      resources: authorization.resources,
      claims: authorization.claims,
      authTime: session.authTime,
      amr: session.amr,
      remembered: session.remembered,
      userAgent: readUserAgent(request),
      createdAt: now,
      expiresAt: codeExpiresAt + maxAccessTokenMs,
      revokedAt: undefined,
    },
    {
      hash: tokenHash(code),
      clientId: authorization.client.id,
      redirectUri: authorization.redirectUri,
      codeChallenge: authorization.codeChallenge,
      nonce: authorization.nonce,
      createdAt: now,
      expiresAt: codeExpiresAt,
    },
    pushed,
  )
  if (!opened) throw new PageError(400, 'error.stale')
  return code
}
