import type { TokenEndpointContext } from '../context/features.ts'
import type { Membership, TokenOrganization } from '../model/organization.ts'
import { OAuthError } from '../oauth/error.ts'
import { findPermittedScopes, leavesNoAccess, parseScope, requireAllowedScopes } from '../oauth/scope.ts'
import type { UserGrant } from '../store/index.ts'
import { chooseGrantTarget, type Target } from './audience.ts'
import type { TokenRequest } from './grant.ts'

/** The access of tokens under a grant now: what was granted, limited to what its client and its user may still have. */
export interface GrantedAccess {
  readonly scopes: readonly string[]
  readonly target: Target
  /** The organization of the grant, with the roles that the user has in it. */
  readonly organization?: TokenOrganization
}

type TermContext = Pick<TokenEndpointContext, 'issuer' | 'apiIdentifier' | 'store'>

/** The access of a grant's first tokens. @throws OAuthError `invalid_grant`, `invalid_target` */
export async function resolveAccess(
  context: TermContext,
  request: TokenRequest,
  userGrant: UserGrant,
): Promise<GrantedAccess> {
  const membership = await findMembership(context, userGrant)
  const scopes = await findRemainingScopes(context, request, userGrant, membership)
  return { ...withAudience(context, request, userGrant, scopes), ...organizationOf(membership) }
}

/**
 * The access of refreshed tokens, which the request may narrow further (RFC 6749 §6). Scopes that were never granted
 * are rejected; scopes that were lost since are left out.
 * @throws OAuthError `invalid_grant`, `invalid_scope`, `invalid_target`
 */
export async function resolveRefreshAccess(
  context: TermContext,
  request: TokenRequest,
  userGrant: UserGrant,
): Promise<GrantedAccess> {
  const membership = await findMembership(context, userGrant)
  const remaining = await findRemainingScopes(context, request, userGrant, membership)
  const scopes = filterRefreshedScopes(request, userGrant, remaining)
  return { ...withAudience(context, request, userGrant, scopes), ...organizationOf(membership) }
}

function filterRefreshedScopes(
  request: TokenRequest,
  userGrant: UserGrant,
  remaining: readonly string[],
): readonly string[] {
  if (!remaining.includes('offline_access')) {
    throw new OAuthError('invalid_grant', 'the client is no longer registered for offline_access')
  }
  const scope = request.parameters.get('scope')
  if (scope === undefined) return remaining
  const requested = requireAllowedScopes(parseScope(scope), userGrant.grant.scopes)
  const scopes = requested.filter((one) => remaining.includes(one))
  if (leavesNoAccess(requested, scopes))
    throw new OAuthError('invalid_scope', 'none of the requested scopes is still allowed')
  return scopes
}

/** The membership that a grant for an organization depends on. @throws OAuthError `invalid_grant` when it has ended */
async function findMembership({ store }: TermContext, { grant, user }: UserGrant): Promise<Membership | undefined> {
  if (grant.organizationId === undefined) return undefined
  const membership = await store.memberships.find(grant.organizationId, user.id)
  if (membership !== undefined) return membership
  throw new OAuthError('invalid_grant', 'the user is no longer a member of the organization of this grant')
}

function organizationOf(membership: Membership | undefined): Pick<GrantedAccess, 'organization'> {
  return membership === undefined ? {} : { organization: { id: membership.organization.id, roles: membership.roles } }
}

async function findRemainingScopes(
  context: TermContext,
  { client }: TokenRequest,
  { grant, user }: UserGrant,
  membership: Membership | undefined,
): Promise<readonly string[]> {
  const remaining = await findPermittedScopes(context, grant.scopes, { client, user, permissions: membership })
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
