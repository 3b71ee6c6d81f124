import { tokenHash } from '@gatehouse/kit'
import { audit } from '../audit/record.ts'
import type { TokenEndpointContext } from '../context/features.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import { OAuthError } from '../oauth/error.ts'
import { matchesChallenge } from '../oauth/pkce.ts'
import type { CodeWithGrant } from '../store/index.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { createRefreshFamily, issueGrantTokens } from './grant-tokens.ts'
import { resolveAccess } from './granted-access.ts'

const invalidCode = () =>
  new OAuthError(
    'invalid_grant',
    'the authorization code is invalid, expired, already used or not valid for this request',
  )

/**
 * The authorization code grant (RFC 6749 §4.1.3, RFC 7636 §4.5). A code works once: a second use by its client revokes
 * the grant, and so does a wrong verifier or redirect_uri; another client's attempt changes nothing.
 */
export function authorizationCodeGrant(context: TokenEndpointContext): Grant {
  return {
    rejectPermanently: (request) => findLiveCode(context, request),
    async issue(request) {
      const found = await findLiveCode(context, request)
      const { hash } = found.code
      const terms = await resolveAccess(context, request, found)
      const family = { grantId: found.grant.id, scopes: terms.scopes }
      const refresh = createRefreshFamily(context, context.refreshMac, request.client, family)
      if (!(await context.store.authorizationCodes.consume(hash, context.clock.now(), refresh?.family))) {
        return rejectReplay(context, request, await context.store.authorizationCodes.find(hash))
      }
      return issueGrantTokens(context, {
        client: request.client,
        userGrant: found,
        nonce: found.code.nonce,
        refreshToken: refresh?.token,
        terms,
        issuedAt: request.receivedAt,
      })
    },
  }
}

/** The code of this client, unless it is used, expired or not valid for this request. */
async function findLiveCode(context: TokenEndpointContext, request: TokenRequest): Promise<CodeWithGrant> {
  const { client, parameters } = request
  const found = await context.store.authorizationCodes.find(tokenHash(parameters.getRequired('code')))
  if (found === undefined || found.code.clientId !== client.id) throw invalidCode()
  if (found.consumedAt !== undefined) return rejectReplay(context, request, found)
  if (!matchesRequest(request, found)) {
    await context.store.grants.revoke(found.grant.id, revocationTimes(context))
    throw invalidCode()
  }
  const { user, grant, code } = found
  if (user.lockedAt !== undefined || grant.revokedAt !== undefined || code.expiresAt <= context.clock.now()) {
    throw invalidCode()
  }
  return found
}

function matchesRequest({ parameters }: TokenRequest, { code }: CodeWithGrant): boolean {
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri !== undefined && redirectUri !== code.redirectUri) return false
  return matchesChallenge(parameters.get('code_verifier'), code.codeChallenge)
}

/** Rejects a consumed code and revokes its grant: whoever has its tokens may have stolen them. */
async function rejectReplay(
  context: TokenEndpointContext,
  { client, httpRequest }: TokenRequest,
  found: CodeWithGrant | undefined,
): Promise<never> {
  if (
    found?.consumedAt !== undefined &&
    (await context.store.grants.revoke(found.grant.id, revocationTimes(context)))
  ) {
    const details = { grant_id: found.grant.id }
    await audit(context, httpRequest, 'code_replayed', { subject: found.user.id, clientId: client.id, details })
  }
  throw invalidCode()
}
