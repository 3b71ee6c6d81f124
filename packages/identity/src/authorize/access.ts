import type { AuthorizeContext } from '../context/features.ts'
import { type Access, covers } from '../model/grants/consent.ts'
import { claimsCoveredBy, type User } from '../model/user.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { type OrganizationChoice, permissionsOf } from '../oauth/organization.ts'
import { grantResources, listApis } from '../oauth/resource.ts'
import { findPermittedScopes } from '../oauth/scope.ts'

type ResourceContext = Pick<AuthorizeContext, 'issuer' | 'apiIdentifier'>

/** The access that a request asks the user to allow. */
export function readAccess(context: ResourceContext, { scopes, resources, claims }: AuthorizationRequest): Access {
  const covered = claimsCoveredBy(scopes)
  const named = new Set([...claims.userinfo, ...claims.idToken])
  return {
    scopes,
    resources: listApis(context, scopes, resources),
    claims: [...named].filter((claim) => !covered.has(claim)),
  }
}

/** The request without the scopes that none of the user's roles allows, in general and in the organization. */
export async function limitToRoles(
  context: ResourceContext & Pick<AuthorizeContext, 'store'>,
  request: AuthorizationRequest,
  user: User,
  choice: OrganizationChoice | undefined,
): Promise<AuthorizationRequest> {
  const { client } = request
  const scopes = await findPermittedScopes(context, request.scopes, {
    client,
    user,
    permissions: permissionsOf(choice),
  })
  const membership = choice?.kind === 'member' ? { membership: choice.membership } : {}
  return { ...withScopes(context, request, scopes), ...membership }
}

/** The request, limited to the access that a page showed. */
export function limitToAccess(
  context: ResourceContext,
  request: AuthorizationRequest,
  shown: Access,
): AuthorizationRequest {
  const scopes = request.scopes.filter((scope) => shown.scopes.includes(scope))
  const wasShown = (claim: string) => covers(shown, { scopes: [], resources: [], claims: [claim] })
  const { userinfo, idToken } = request.claims
  const claims = { userinfo: userinfo.filter(wasShown), idToken: idToken.filter(wasShown) }
  return { ...withScopes(context, request, scopes), claims }
}

function withScopes(
  context: ResourceContext,
  request: AuthorizationRequest,
  scopes: readonly string[],
): AuthorizationRequest {
  return { ...request, scopes, resources: grantResources(context, scopes, request.resources) }
}
