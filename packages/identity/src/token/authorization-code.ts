import { tokenHash } from '@gatehouse/kit'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import { revocationTimes } from '../model/revocation-times.ts'
import { OAuthError } from '../oauth/error.ts'
import { verifierMatches } from '../oauth/pkce.ts'
import type { FoundCode } from '../store/index.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { firstRefresh, issueForGrant } from './grant-tokens.ts'
import { termsOf } from './granted-access.ts'

const refused = () => new OAuthError('invalid_grant', 'the code is unknown, used, over, or not for this request')

/**
 * The exchange of an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.5). A code works once: its own client's second
 * try ends the grant, its own client's wrong verifier or redirect_uri too; another client's try changes nothing.
 */
export function authorizationCode(parts: Parts): Grant {
  return {
    refuseHopeless: (asked) => live(parts, asked),
    async issue(asked) {
      const found = await live(parts, asked)
      const { hash } = found.code
      const terms = termsOf(parts, asked, found)
      const family = { grantId: found.grant.id, scopes: terms.scopes }
      const refresh = firstRefresh(parts, parts.refreshMac, asked.client, family)
      if (!(await parts.store.codes.consume(hash, parts.clock.now(), refresh?.family))) {
        return replayed(parts, asked, await parts.store.codes.find(hash))
      }
      return issueForGrant(parts, {
        client: asked.client,
        held: found,
        nonce: found.code.nonce,
        refreshToken: refresh?.token,
        terms,
        issuedAt: asked.receivedAt,
      })
    },
  }
}

/** The code of this client, unless it is used, over, or not for this request. */
async function live(parts: Parts, asked: TokenRequest): Promise<FoundCode> {
  const { client, parameters } = asked
  const found = await parts.store.codes.find(tokenHash(parameters.required('code')))
  if (found === undefined || found.code.clientId !== client.id) throw refused()
  if (found.consumedAt !== undefined) return replayed(parts, asked, found)
  if (!matches(asked, found)) {
    await parts.store.grants.revoke(found.grant.id, revocationTimes(parts))
    throw refused()
  }
  const { user, grant, code } = found
  if (user.lockedAt !== undefined || grant.revokedAt !== undefined || code.expiresAt <= parts.clock.now()) {
    throw refused()
  }
  return found
}

function matches({ parameters }: TokenRequest, { code }: FoundCode): boolean {
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri !== undefined && redirectUri !== code.redirectUri) return false
  return verifierMatches(parameters.get('code_verifier'), code.codeChallenge)
}

/** The code lost a race or came back: if it was consumed, whoever holds its tokens loses them. */
async function replayed(parts: Parts, { client, request }: TokenRequest, found: FoundCode | undefined): Promise<never> {
  if (found?.consumedAt !== undefined && (await parts.store.grants.revoke(found.grant.id, revocationTimes(parts)))) {
    const details = { grant_id: found.grant.id }
    await audit(parts, request, 'code_replayed', { subject: found.user.id, clientId: client.id, details })
  }
  throw refused()
}
