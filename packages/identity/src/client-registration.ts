import type { ClientMetadata, GrantType } from './client.ts'
import type { ClientPatch } from './declarations.ts'
import { faultOfRedirectUri } from './redirect-uri.ts'
import { userScopes } from './scope.ts'

type Members = { -readonly [Name in keyof ClientPatch]?: ClientPatch[Name] | undefined }

/** Reads the members of a registration, with the defaults for those left out. */
export function metadataOf(id: string, members: Members): ClientMetadata {
  const method = members.token_endpoint_auth_method
  const redirectUris = members.redirect_uris ?? []
  return {
    name: members.client_name ?? id,
    authMethods: method === undefined ? ['client_secret_basic', 'client_secret_post'] : [method],
    grantTypes: members.grant_types ?? defaultGrants(redirectUris),
    redirectUris,
    postLogoutRedirectUris: members.post_logout_redirect_uris ?? [],
    scopes: members.scopes ?? (redirectUris.length > 0 ? userScopes : []),
    resources: members.resources ?? [],
    roles: members.roles ?? [],
    requirePkce: members.require_pkce ?? true,
    requirePushedRequests: members.require_pushed_authorization_requests ?? false,
    skipConsent: members.skip_consent ?? false,
    mayIntrospect: members.may_introspect ?? false,
    idTokenAlgorithm: members.id_token_signed_response_alg ?? 'RS256',
    allowedOrigins: members.allowed_origins ?? [],
    ...present({
      jwks: members.jwks,
      jwksUri: members.jwks_uri,
      accessTokenFormat: members.access_token_format,
      accessTokenSeconds: members.access_token_lifetime_seconds,
      refreshTokenSeconds: members.refresh_token_lifetime_seconds,
      backchannelLogoutUri: members.backchannel_logout_uri,
      clientUri: members.client_uri,
      logoUri: members.logo_uri,
      policyUri: members.policy_uri,
      tosUri: members.tos_uri,
    }),
  }
}

function defaultGrants(redirectUris: readonly string[]): GrantType[] {
  return redirectUris.length > 0 ? ['authorization_code', 'refresh_token'] : ['client_credentials']
}

/** The registration again, as it is declared; what stands at its default is told too. */
export function membersOf(client: ClientMetadata): ClientPatch {
  return {
    client_name: client.name,
    ...(client.authMethods.length === 1 ? { token_endpoint_auth_method: client.authMethods[0] as 'none' } : {}),
    grant_types: [...client.grantTypes],
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    scopes: [...client.scopes],
    resources: [...client.resources],
    roles: [...client.roles],
    require_pkce: client.requirePkce,
    require_pushed_authorization_requests: client.requirePushedRequests,
    skip_consent: client.skipConsent,
    may_introspect: client.mayIntrospect,
    id_token_signed_response_alg: client.idTokenAlgorithm,
    allowed_origins: [...client.allowedOrigins],
    ...present({
      jwks: client.jwks as ClientPatch['jwks'],
      jwks_uri: client.jwksUri,
      access_token_format: client.accessTokenFormat,
      access_token_lifetime_seconds: client.accessTokenSeconds,
      refresh_token_lifetime_seconds: client.refreshTokenSeconds,
      backchannel_logout_uri: client.backchannelLogoutUri,
      client_uri: client.clientUri,
      logo_uri: client.logoUri,
      policy_uri: client.policyUri,
      tos_uri: client.tosUri,
    }),
  }
}

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

function present<Members extends object>(members: Members): Present<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Members>
}

/** Everything that is wrong about a registration, each with the member it is about. */
export function faultsOfClient(client: ClientMetadata): { pointer: string; detail: string }[] {
  const faults: { pointer: string; detail: string }[] = []
  const refuse = (pointer: string, detail: string) => faults.push({ pointer, detail })
  const isPublic = client.authMethods.includes('none')
  for (const [member, uris] of [
    ['redirect_uris', client.redirectUris],
    ['post_logout_redirect_uris', client.postLogoutRedirectUris],
  ] as const) {
    uris.forEach((uri, index) => {
      const fault = faultOfRedirectUri(uri)
      if (fault) refuse(`/${member}/${index}`, fault)
    })
  }
  for (const [member, uri] of [
    ['jwks_uri', client.jwksUri],
    ['backchannel_logout_uri', client.backchannelLogoutUri],
    ['client_uri', client.clientUri],
    ['logo_uri', client.logoUri],
    ['policy_uri', client.policyUri],
    ['tos_uri', client.tosUri],
  ] as const) {
    if (uri !== undefined && !isWebAddress(uri)) refuse(`/${member}`, 'must be an https:// URL (http:// on localhost)')
  }
  client.allowedOrigins.forEach((origin, index) => {
    if (URL.parse(origin)?.origin !== origin)
      refuse(`/allowed_origins/${index}`, 'must be an origin: scheme, host, port')
  })
  client.resources.forEach((resource, index) => {
    if (faultOfResource(resource)) refuse(`/resources/${index}`, 'must be an absolute URI without fragment')
  })
  if (isPublic && client.grantTypes.includes('client_credentials'))
    refuse('/grant_types', 'client_credentials needs a client that can keep a secret')
  if (isPublic && !client.requirePkce) refuse('/require_pkce', 'must be true for a public client')
  if (isPublic && client.skipConsent)
    refuse('/skip_consent', 'must be false for a public client: anyone can say its name')
  if (isPublic && client.mayIntrospect) refuse('/may_introspect', 'must be false for a public client')
  if (client.grantTypes.includes('authorization_code') && client.redirectUris.length === 0)
    refuse('/redirect_uris', 'must name at least one for authorization_code')
  if (client.authMethods.includes('private_key_jwt') && (client.jwks === undefined) === (client.jwksUri === undefined))
    refuse('/jwks', 'either jwks or jwks_uri is needed for private_key_jwt')
  return faults
}

/** Whether `resource` can't be the identifier of a resource (RFC 8707 §2). */
function faultOfResource(resource: string): boolean {
  const url = URL.parse(resource)
  return url === null || resource.includes('#') || /\s/.test(resource)
}

function isWebAddress(uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null || url.username !== '' || uri.includes('#')) return false
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
  )
}
