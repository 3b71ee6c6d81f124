import { tokenHash } from '@gatehouse/kit'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import type { Client } from '../model/client.ts'
import type { RefreshFamily } from '../model/grant.ts'
import { revocationTimes } from '../model/revocation-times.ts'
import { OAuthError } from '../oauth/error.ts'
import {
  isGenuine,
  makeRefreshToken,
  type RefreshToken,
  readRefreshToken,
  sealSuccessor,
  unsealSuccessor,
} from '../oauth/refresh-token.ts'
import type { FoundFamily } from '../store/index.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { issueForGrant, refreshSeconds } from './grant-tokens.ts'
import { refreshTerms } from './granted-access.ts'

const refused = () => new OAuthError('invalid_grant', 'the refresh token is unknown, used, over or revoked')

/**
 * Refresh (RFC 6749 §6) with rotation at every use (OAuth 2.1 §4.3.1). The use of an old token ends the family; within
 * the grace a repeat of the last one is answered with the same successor, while nobody has used that.
 */
export function refresh(parts: Parts): Grant {
  return {
    async refuseHopeless(asked) {
      const held = await find(parts, asked)
      const { family } = held.found
      if (isOld(parts, held)) return endReused(parts, asked, held, family.generation)
    },
    async issue(asked) {
      const held = await find(parts, asked)
      const { found } = held
      const terms = refreshTerms(parts, asked, found)
      const refreshToken = await successorOf(parts, asked, held)
      return issueForGrant(parts, {
        client: asked.client,
        held: found,
        refreshToken,
        terms,
        issuedAt: asked.receivedAt,
      })
    },
  }
}

interface Given {
  readonly token: RefreshToken
  readonly given: string
  readonly found: FoundFamily
}

async function find(parts: Parts, { client, parameters }: TokenRequest): Promise<Given> {
  const given = parameters.required('refresh_token')
  const token = readRefreshToken(parts.refreshMac, given)
  const found = token && (await parts.store.refreshFamilies.find(token.grantId))
  if (token === undefined || found === undefined || found.grant.clientId !== client.id) throw refused()
  if (!isGenuine(token, found.family) || !isAlive(parts, found)) throw refused()
  return { token, given, found }
}

function isAlive({ clock }: Parts, { grant, user, family }: FoundFamily): boolean {
  return grant.revokedAt === undefined && user.lockedAt === undefined && family.expiresAt > clock.now()
}

/** The token that takes the place of the one presented. Ends the grant when that is an older one. */
async function successorOf(parts: Parts, asked: TokenRequest, { token, given, found }: Given): Promise<string> {
  const successor = makeRefreshToken(parts.refreshMac, token.grantId, token.generation + 1)
  const rotated = await parts.store.refreshFamilies.rotate({
    hash: token.hash,
    next: familyAfter(parts, asked.client, { token, given, successor }),
    graceSince: graceSince(parts),
  })
  if (rotated.outcome === 'rotated') return successor
  if (rotated.outcome === 'repeated') return unsealSuccessor(rotated.successorSealed, given)
  if (rotated.outcome === 'reused') return endReused(parts, asked, { token, given, found }, rotated.generation)
  throw refused()
}

/** A repeat of the last token used is no reuse after this moment. */
function graceSince({ clock, lifetimes }: Parts): number {
  return clock.now() - lifetimes.refreshGrace * 1000
}

/** Neither the current token nor one whose repeat would be answered: that never changes any more. */
function isOld(parts: Parts, { token, found: { family } }: Given): boolean {
  if (token.hash === family.currentHash) return false
  const repeat = token.hash === family.previousHash && family.successorSealed !== undefined
  return !(repeat && family.rotatedAt > graceSince(parts))
}

/** Somebody holds a copy: the grant ends. */
async function endReused(parts: Parts, asked: TokenRequest, { token, found }: Given, current: number): Promise<never> {
  await parts.store.grants.revoke(token.grantId, revocationTimes(parts))
  const details = { grant_id: token.grantId, generation: token.generation, current }
  await audit(parts, asked.request, 'refresh_reused', { subject: found.user.id, clientId: asked.client.id, details })
  throw refused()
}

function familyAfter(
  parts: Parts,
  client: Client,
  { token, given, successor }: { token: RefreshToken; given: string; successor: string },
): RefreshFamily {
  const now = parts.clock.now()
  return {
    grantId: token.grantId,
    generation: token.generation + 1,
    currentHash: tokenHash(successor),
    previousHash: token.hash,
    successorSealed: parts.lifetimes.refreshGrace > 0 ? sealSuccessor(successor, given) : undefined,
    rotatedAt: now,
    expiresAt: now + refreshSeconds(parts, client) * 1000,
  }
}
