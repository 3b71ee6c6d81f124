import { tokenHash } from '@gatehouse/kit'
import { audit } from '../audit/record.ts'
import type { TokenEndpointContext } from '../context/features.ts'
import type { Client } from '../model/client.ts'
import { hasRequiredFactor } from '../model/factors/second-factor.ts'
import type { RefreshFamily } from '../model/grants/grant.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import { OAuthError } from '../oauth/error.ts'
import {
  createRefreshToken,
  isGenuine,
  type RefreshToken,
  readRefreshToken,
  sealSuccessor,
  unsealSuccessor,
} from '../oauth/refresh-token.ts'
import type { FamilyWithGrant } from '../store/index.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { issueGrantTokens, refreshLifetime } from './grant-tokens.ts'
import { resolveRefreshAccess } from './granted-access.ts'

const invalidToken = () =>
  new OAuthError('invalid_grant', 'the refresh token is invalid, expired, revoked or already used')

/**
 * The refresh grant (RFC 6749 §6), with rotation at every use (OAuth 2.1 §4.3.1). The use of an old token revokes the
 * grant. Within the grace a repeat of the previous token is answered with the same successor, while that is unused: the
 * right trade, because a client that lost the response can retry, at the price of a short replay window.
 */
export function refreshGrant(context: TokenEndpointContext): Grant {
  return {
    async rejectPermanently(request) {
      const presented = await findPresentedToken(context, request)
      const { family } = presented.found
      if (isAhead(presented)) return rejectAhead(context, request, presented)
      if (isReuse(context, presented)) return rejectReuse(context, request, presented, family.generation)
    },
    async issue(request) {
      const presented = await findPresentedToken(context, request)
      const { found } = presented
      if (isAhead(presented)) return rejectAhead(context, request, presented)
      requireFactor(context, request.client, found)
      const terms = await resolveRefreshAccess(context, request, found)
      const refreshToken = await rotate(context, request, presented)
      return issueGrantTokens(context, {
        client: request.client,
        userGrant: found,
        refreshToken,
        terms,
        issuedAt: request.receivedAt,
      })
    },
  }
}

interface PresentedToken {
  readonly token: RefreshToken
  readonly value: string
  readonly found: FamilyWithGrant
}

async function findPresentedToken(
  context: TokenEndpointContext,
  { client, parameters }: TokenRequest,
): Promise<PresentedToken> {
  const value = parameters.getRequired('refresh_token')
  const token = readRefreshToken(context.refreshMac, value)
  const found = token && (await context.store.refreshFamilies.find(token.grantId))
  if (token === undefined || found === undefined || found.grant.clientId !== client.id) throw invalidToken()
  if (!isGenuine(token, found.family) || !isAlive(context, found)) throw invalidToken()
  return { token, value, found }
}

function isAlive({ clock }: TokenEndpointContext, { grant, user, family }: FamilyWithGrant): boolean {
  return grant.revokedAt === undefined && user.lockedAt === undefined && family.expiresAt > clock.now()
}

/**
 * Checks that the grant has the second factor that its user needs now: the policy may have come after the sign-in, and
 * nobody who learned a password alone goes on without the factor. The token is not used up: nothing is lost where the
 * policy was a mistake.
 * @throws OAuthError `invalid_grant`
 */
function requireFactor(context: TokenEndpointContext, client: Client, { grant, requiresMfa }: FamilyWithGrant): void {
  if (hasRequiredFactor(grant, [client.mfa, context.mfa, requiresMfa ? 'required' : undefined])) return
  throw new OAuthError('invalid_grant', 'a second factor is required since the user signed in: they must sign in again')
}

/** Rotates the presented token and returns its successor. Revokes the grant when it is an older one. */
async function rotate(
  context: TokenEndpointContext,
  request: TokenRequest,
  { token, value, found }: PresentedToken,
): Promise<string> {
  const successor = createRefreshToken(context.refreshMac, token.grantId, token.generation + 1)
  const result = await context.store.refreshFamilies.rotate({
    hash: token.hash,
    next: nextFamily(context, request.client, { token, value, successor }),
    graceSince: graceSince(context),
  })
  if (result.outcome === 'rotated') return successor
  if (result.outcome === 'repeated') return unsealSuccessor(result.successorSealed, value)
  if (result.outcome === 'reused') return rejectReuse(context, request, { token, value, found }, result.generation)
  throw invalidToken()
}

/** A repeat of the previous token counts as reuse when it was rotated before this moment. */
function graceSince({ clock, lifetimes }: TokenEndpointContext): number {
  return clock.now() - lifetimes.refreshGrace * 1000
}

/**
 * Whether the token is reused: neither the current one nor the previous one within the grace. That never changes back.
 */
function isReuse(context: TokenEndpointContext, { token, found: { family } }: PresentedToken): boolean {
  if (token.hash === family.currentHash) return false
  const repeat = token.hash === family.previousHash && family.successorSealed !== undefined
  return !(repeat && family.rotatedAt > graceSince(context))
}

/**
 * Whether the token is newer than what the database knows. Only this server issues genuine tokens, and none before its
 * generation is stored: the database was put back to an earlier state since.
 */
function isAhead({ token, found: { family } }: PresentedToken): boolean {
  return token.generation > family.generation
}

/**
 * Ends the family, and not the grant, since no copy of the token needs to exist: nobody but a thief can hold the token
 * that is the current one again. Its user must sign in again.
 */
async function rejectAhead(
  context: TokenEndpointContext,
  request: TokenRequest,
  { token, found }: PresentedToken,
): Promise<never> {
  const { grantId, generation } = token
  if (await context.store.refreshFamilies.endOlder(grantId, generation)) {
    const details = { grant_id: grantId, generation, current: found.family.generation }
    const facts = { subject: found.user.id, clientId: request.client.id, details }
    await audit(context, request.httpRequest, 'refresh_ahead', facts)
  }
  throw invalidToken()
}

/** Revokes the grant, because a copy of the token exists. */
async function rejectReuse(
  context: TokenEndpointContext,
  request: TokenRequest,
  { token, found }: PresentedToken,
  current: number,
): Promise<never> {
  await context.store.grants.revoke(token.grantId, revocationTimes(context))
  const details = { grant_id: token.grantId, generation: token.generation, current }
  await audit(context, request.httpRequest, 'refresh_reused', {
    subject: found.user.id,
    clientId: request.client.id,
    details,
  })
  throw invalidToken()
}

function nextFamily(
  context: TokenEndpointContext,
  client: Client,
  { token, value, successor }: { token: RefreshToken; value: string; successor: string },
): RefreshFamily {
  const now = context.clock.now()
  return {
    grantId: token.grantId,
    generation: token.generation + 1,
    currentHash: tokenHash(successor),
    previousHash: token.hash,
    successorSealed: context.lifetimes.refreshGrace > 0 ? sealSuccessor(successor, value) : undefined,
    rotatedAt: now,
    expiresAt: now + refreshLifetime(context, client) * 1000,
  }
}
