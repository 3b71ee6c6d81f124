import type { Parts } from '../context/context.ts'
import { type Access, covers } from '../model/consent.ts'
import { claimsCoveredBy, type User } from '../model/user.ts'
import type { AuthorizationRequest } from '../oauth/authorization-request.ts'
import { apisFor, grantResources } from '../oauth/resource.ts'
import { permittedScopes } from '../oauth/scope.ts'

type ResourceParts = Pick<Parts, 'issuer' | 'apiIdentifier'>

/** What a request asks the user to allow. */
export function accessOf(parts: ResourceParts, { scopes, resources, claims }: AuthorizationRequest): Access {
  const covered = claimsCoveredBy(scopes)
  const named = new Set([...claims.userinfo, ...claims.idToken])
  return {
    scopes,
    resources: apisFor(parts, scopes, resources),
    claims: [...named].filter((claim) => !covered.has(claim)),
  }
}

/** The request as far as the user may allow it: management scopes that none of their roles allows are left out. */
export function permittedTo(parts: ResourceParts, request: AuthorizationRequest, user: User): AuthorizationRequest {
  return withScopes(parts, request, permittedScopes(request.scopes, request.client, user))
}

/** What of the request was named on the page. */
export function limitedTo(parts: ResourceParts, request: AuthorizationRequest, shown: Access): AuthorizationRequest {
  const scopes = request.scopes.filter((scope) => shown.scopes.includes(scope))
  const wasShown = (claim: string) => covers(shown, { scopes: [], resources: [], claims: [claim] })
  const { userinfo, idToken } = request.claims
  const claims = { userinfo: userinfo.filter(wasShown), idToken: idToken.filter(wasShown) }
  return { ...withScopes(parts, request, scopes), claims }
}

function withScopes(
  parts: ResourceParts,
  request: AuthorizationRequest,
  scopes: readonly string[],
): AuthorizationRequest {
  return { ...request, scopes, resources: grantResources(parts, scopes, request.resources) }
}
