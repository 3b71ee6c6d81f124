import { randomUUIDv7 } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { AuthorizeContext } from '../context/features.ts'
import type { Access } from '../model/grants/consent.ts'
import type { PushedSignIn } from '../model/grants/pushed-request.ts'
import { maxAccessTokenMs } from '../model/grants/revocation-times.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, readUserAgent } from '../sessions/browser.ts'

/** Who granted what the code is for. */
interface Grantor extends NonNullable<Browser['signedIn']> {
  /** The sign-in that uses up its pushed request by the code (RFC 9126 §7.3). */
  readonly pushed: PushedSignIn | undefined
  /** The access that the user's consent must cover still; undefined for a client that needs none. */
  readonly consented: Access | undefined
}

/**
 * Stores the grant with its authorization code and returns the code (RFC 6749 §4.1.2).
 * @throws PageError 400 when the session has ended or the consent was withdrawn meanwhile, when the sign-in with a pushed
 * request took too long, or when that request led to a code in another sign-in or session
 */
export async function issueCode(
  context: Pick<AuthorizeContext, 'store' | 'clock' | 'lifetimes'>,
  request: FastifyRequest,
  authorization: AuthorizationRequest,
  { session, user, pushed, consented }: Grantor,
): Promise<string> {
  const code = randomToken()
  const now = context.clock.now()
  // Not `>=`: a page that an earlier version sealed has no such time.
  if (pushed !== undefined && !(now < pushed.until)) throw new PageError(400, 'error.stale')
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
    { pushed, consented },
  )
  if (!opened) throw new PageError(400, 'error.stale')
  return code
}
