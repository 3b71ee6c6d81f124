import type { TokenEndpointContext } from '../context/features.ts'
import type { Client } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import { isAllowedResource, missingApiScope, requireOneResource, userinfoResource } from '../oauth/resource.ts'
import { isIdentityOnly } from '../oauth/scope.ts'

/** The target of an access token. */
export interface Target {
  /** The API; undefined for a token for userinfo only. */
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
 * The target of a client's own token: the requested resource, or else the default API (RFC 8707 §2.2).
 * @throws OAuthError `invalid_target`
 */
export function chooseClientTarget(context: TargetContext, client: Client, requested: readonly string[]): Target {
  const api = requireOneResource(requested) ?? context.apiIdentifier
  if (!isAllowedResource(context, client, api))
    throw new OAuthError('invalid_target', `not allowed for this client: ${api}`)
  return { api, userinfo: false }
}

/** What the target of a token is chosen from. */
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
 * The target of a token under a user's grant. Without a requested resource: the one of the grant. The default API
 * shares its token with userinfo, as OpenID Connect clients expect; a token for a requested resource is for that alone.
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
