import type { TokenEndpointContext } from '../context/features.ts'
import { OAuthError } from '../oauth/error.ts'
import { filterPermittedScopes, leavesNoAccess, parseScope, requireAllowedScopes } from '../oauth/scope.ts'
import type { UserGrant } from '../store/index.ts'
import { chooseGrantTarget, type Target } from './audience.ts'
import type { TokenRequest } from './grant.ts'

/** The access of tokens under a grant now: what was granted, limited to what its client and its user may still have. */
export interface GrantedAccess {
  readonly scopes: readonly string[]
  readonly target: Target
}

type TermContext = Pick<TokenEndpointContext, 'issuer' | 'apiIdentifier'>

/** The access of a grant's first tokens. @throws OAuthError `invalid_grant`, `invalid_target` */
export function resolveAccess(context: TermContext, request: TokenRequest, userGrant: UserGrant): GrantedAccess {
  return withAudience(context, request, userGrant, filterRemainingScopes(request, userGrant))
}

/**
 * The access of refreshed tokens, which the request may narrow further (RFC 6749 §6). Scopes that were never granted
 * are rejected; scopes that were lost since are left out.
 * @throws OAuthError `invalid_grant`, `invalid_scope`, `invalid_target`
 */
export function resolveRefreshAccess(context: TermContext, request: TokenRequest, userGrant: UserGrant): GrantedAccess {
  const remaining = filterRemainingScopes(request, userGrant)
  if (!remaining.includes('offline_access')) {
    throw new OAuthError('invalid_grant', 'the client is no longer registered for offline_access')
  }
  const scope = request.parameters.get('scope')
  if (scope === undefined) return withAudience(context, request, userGrant, remaining)
  const requested = requireAllowedScopes(parseScope(scope), userGrant.grant.scopes)
  const scopes = requested.filter((one) => remaining.includes(one))
  if (leavesNoAccess(requested, scopes))
    throw new OAuthError('invalid_scope', 'none of the requested scopes is still allowed')
  return withAudience(context, request, userGrant, scopes)
}

function filterRemainingScopes({ client }: TokenRequest, { grant, user }: UserGrant): readonly string[] {
  const remaining = filterPermittedScopes(grant.scopes, client, user)
  if (leavesNoAccess(grant.scopes, remaining)) {
    throw new OAuthError('invalid_grant', 'no scope of this grant is still allowed for the client and its user')
  }
  return remaining
}

function withAudience(
  context: TermContext,
  { client, parameters }: TokenRequest,
  { grant }: UserGrant,
  scopes: readonly string[],
): GrantedAccess {
  const requested = parameters.getAll('resource')
  return { scopes, target: chooseGrantTarget(context, { client, scopes, granted: grant.resources, requested }) }
}
