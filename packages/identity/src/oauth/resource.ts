import type { AudienceContext } from '../context/context.ts'
import type { Client } from '../model/client.ts'
import { OAuthError } from './error.ts'
import { isIdentityOnly } from './scope.ts'

type ResourceContext = Pick<AudienceContext, 'issuer' | 'apiIdentifier'>

/** The audience of access tokens for userinfo: the address of that endpoint. */
export function userinfoResource({ issuer }: Pick<AudienceContext, 'issuer'>): string {
  return `${issuer}/userinfo`
}

/** Whether a client may ask for tokens for an API. */
export function isAllowedResource({ apiIdentifier }: ResourceContext, client: Client, resource: string): boolean {
  return resource === apiIdentifier || client.resources.includes(resource)
}

/**
 * The resources of a requested grant (RFC 8707 §2.1), each once; without any, the default of the scopes.
 * @throws OAuthError `invalid_target` naming what is not allowed
 */
export function parseResources(
  context: ResourceContext,
  client: Client,
  scopes: readonly string[],
  requested: readonly string[],
): readonly string[] {
  const userinfo = userinfoResource(context)
  const apis = requested.filter((one) => one !== userinfo)
  const refused = apis.filter((one) => !isAllowedResource(context, client, one))
  if (refused.length > 0)
    throw new OAuthError('invalid_target', `not allowed for this client: ${refused.slice(0, 10).join(' ')}`)
  if (apis.length > 0 && isIdentityOnly(scopes)) throw missingApiScope(apis)
  if (requested.includes(userinfo) && !scopes.includes('openid')) {
    throw new OAuthError('invalid_target', `a token for ${userinfo} requires the scope openid`)
  }
  return grantResources(context, scopes, requested.length > 0 ? [...new Set(requested)] : [context.apiIdentifier])
}

/** The resources of a grant: only userinfo when its scopes grant access to no API. */
export function grantResources(
  context: ResourceContext,
  scopes: readonly string[],
  resources: readonly string[],
): readonly string[] {
  return isIdentityOnly(scopes) ? [userinfoResource(context)] : resources
}

/**
 * The APIs among the resources that the scopes are for. Userinfo is not one: scopes and claims describe it completely.
 */
export function listApis(
  context: ResourceContext,
  scopes: readonly string[],
  resources: readonly string[],
): readonly string[] {
  return isIdentityOnly(scopes) ? [] : resources.filter((one) => one !== userinfoResource(context))
}

/** The error for an API without a scope for it: the scopes of OpenID Connect grant access to userinfo only. */
export function missingApiScope(resources: readonly string[]): OAuthError {
  const named = resources.slice(0, 10).join(' ')
  return new OAuthError('invalid_target', `a token for ${named} requires a scope other than those of OpenID Connect`)
}

/**
 * The resource that a token is requested for. A token is for one API, so that no API can use it at another (RFC 8707
 * §2.2).
 * @throws OAuthError `invalid_target` for more than one
 */
export function requireOneResource(requested: readonly string[]): string | undefined {
  const [resource, ...others] = new Set(requested)
  if (others.length > 0) {
    throw new OAuthError(
      'invalid_target',
      'resource must name one API: an access token is for one (RFC 8707 section 2.2)',
    )
  }
  return resource
}
