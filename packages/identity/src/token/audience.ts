import type { TokenEndpointContext } from '../context/features.ts'
import type { Client } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import { isAllowedResource, missingApiScope, requireOneResource, userinfoResource } from '../oauth/resource.ts'
import { isIdentityOnly } from '../oauth/scope.ts'

/** What one access token is for. */
export interface Target {
  /** The API; undefined for a token that opens userinfo alone. */
  readonly api: string | undefined
  readonly userinfo: boolean
}

type TargetContext = Pick<TokenEndpointContext, 'issuer' | 'apiIdentifier'>

/** The claim aud. */
export function audienceOf(
  context: Pick<TokenEndpointContext, 'issuer'>,
  { api, userinfo }: Target,
): readonly string[] {
  return [...(api === undefined ? [] : [api]), ...(userinfo ? [userinfoResource(context)] : [])]
}

/**
 * What a client's own token is for: the resource it asks for, else the default API (RFC 8707 §2.2).
 * @throws OAuthError `invalid_target`
 */
export function chooseClientTarget(context: TargetContext, client: Client, requested: readonly string[]): Target {
  const api = requireOneResource(requested) ?? context.apiIdentifier
  if (!isAllowedResource(context, client, api))
    throw new OAuthError('invalid_target', `not allowed for this client: ${api}`)
  return { api, userinfo: false }
}

export interface TargetRequest {
  readonly client: Client
  /** The scopes that the token will have. */
  readonly scopes: readonly string[]
  /** The resources of the grant. */
  readonly granted: readonly string[]
  /** Those that the token request names. */
  readonly requested: readonly string[]
}

/**
 * What a token under a user's grant is for. Without a resource in the request: the one of the grant. The default API
 * shares its token with userinfo, which is what OpenID Connect clients expect who ask for no resource; a token for any
 * resource that is named is for that alone.
 * @throws OAuthError `invalid_target`
 */
export function chooseGrantTarget(context: TargetContext, request: TargetRequest): Target {
  const named = requireOneResource(request.requested)
  return named === undefined ? chooseDefaultTarget(context, request) : chooseNamedTarget(context, request, named)
}

function chooseNamedTarget(
  context: TargetContext,
  { client, scopes, granted }: TargetRequest,
  resource: string,
): Target {
  if (resource === userinfoResource(context) && scopes.includes('openid')) return { api: undefined, userinfo: true }
  if (!granted.includes(resource) || !isAllowedResource(context, client, resource)) {
    throw new OAuthError('invalid_target', `the resource was not granted: ${resource}`)
  }
  if (isIdentityOnly(scopes)) throw missingApiScope([resource])
  return { api: resource, userinfo: false }
}

function chooseDefaultTarget(context: TargetContext, { client, scopes, granted }: TargetRequest): Target {
  const userinfo = userinfoResource(context)
  const remaining = granted.filter((one) => one === userinfo || isAllowedResource(context, client, one))
  if (isIdentityOnly(scopes) || (remaining.length === 1 && remaining[0] === userinfo))
    return { api: undefined, userinfo: true }
  const [api, ...others] = remaining
  if (api === undefined)
    throw new OAuthError('invalid_target', 'the client is no longer registered for the resources of this grant')
  if (others.length > 0) {
    throw new OAuthError('invalid_target', 'several resources were granted; name one for each token (RFC 8707)')
  }
  return { api, userinfo: api === context.apiIdentifier && scopes.includes('openid') }
}
