import type { ClientDeclaration, ClientPatch } from '../config/declarations.ts'
import { type ClientMetadata, type GrantType, isPublic } from '../model/client.ts'
import { isReservedRole } from '../model/management-roles.ts'
import { checkRedirectUri } from '../oauth/redirect-uri.ts'
import { isScopeName, userScopes } from '../oauth/scope.ts'

type Members = { -readonly [Name in keyof ClientPatch]?: ClientPatch[Name] | undefined }

/** The members of a registration, as they are declared. */
export type RegisteredMembers = Omit<ClientPatch, 'policy'> & { readonly policy?: string }

/** Parses the members of a registration, with defaults for those left out. */
export function parseMetadata(id: string, members: Members): ClientMetadata {
  const method = members.token_endpoint_auth_method
  const redirectUris = members.redirect_uris ?? []
  return {
    name: members.client_name ?? id,
    authMethods: method === undefined ? ['client_secret_basic', 'client_secret_post'] : [method],
    assertionAudience: members.assertion_audience ?? 'issuer',
    grantTypes: members.grant_types ?? defaultGrantTypes(redirectUris),
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
    idTokenClaims: members.id_token_claims ?? false,
    allowedOrigins: members.allowed_origins ?? [],
    ...omitUndefined({
      jwks: members.jwks,
      organizations: members.organizations,
      policy: members.policy ?? undefined,
      jwksUri: members.jwks_uri,
      mfa: members.mfa,
      accessTokenFormat: members.access_token_format,
      accessTokenAlgorithm: members.access_token_signed_response_alg,
      dotlessRedirectSchemes: members.allow_dotless_redirect_schemes,
      firstParty: members.first_party,
      publisher: members.publisher,
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

function defaultGrantTypes(redirectUris: readonly string[]): GrantType[] {
  return redirectUris.length > 0 ? ['authorization_code', 'refresh_token'] : ['client_credentials']
}

/** Formats a registration as it is declared, with defaults. */
export function formatMembers(client: ClientMetadata): RegisteredMembers {
  return {
    client_name: client.name,
    ...(client.authMethods.length === 1 ? { token_endpoint_auth_method: client.authMethods[0] as 'none' } : {}),
    assertion_audience: client.assertionAudience,
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
    id_token_claims: client.idTokenClaims,
    allowed_origins: [...client.allowedOrigins],
    ...omitUndefined({
      organizations: client.organizations,
      policy: client.policy,
      jwks: client.jwks as ClientPatch['jwks'],
      jwks_uri: client.jwksUri,
      mfa: client.mfa,
      access_token_format: client.accessTokenFormat,
      access_token_signed_response_alg: client.accessTokenAlgorithm,
      allow_dotless_redirect_schemes: client.dotlessRedirectSchemes,
      first_party: client.firstParty,
      publisher: client.publisher,
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

function omitUndefined<Members extends object>(members: Members): Present<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Members>
}

/** A fault of a registration. */
export interface ClientFault {
  /** The JSON pointer of the member. */
  readonly pointer: string
  readonly detail: string
}

/** Every fault of a declared client, with the member it is about. */
export function findDeclaredClientFaults(client: ClientDeclaration): ClientFault[] {
  return findClientFaults(parseMetadata(client.client_id, client))
}

/** Every fault of a registration, with the member it is about. */
export function findClientFaults(client: ClientMetadata): ClientFault[] {
  return [...findAddressFaults(client), ...findCombinationFaults(client)]
}

function findAddressFaults(client: ClientMetadata): ClientFault[] {
  const each = <Value>(member: string, values: readonly Value[], faultOf: (value: Value) => string | undefined) =>
    values.flatMap((value, index): ClientFault[] => {
      const detail = faultOf(value)
      return detail === undefined ? [] : [{ pointer: `/${member}/${index}`, detail }]
    })
  const webAddresses: Record<string, string | undefined> = {
    jwks_uri: client.jwksUri,
    backchannel_logout_uri: client.backchannelLogoutUri,
    client_uri: client.clientUri,
    logo_uri: client.logoUri,
    policy_uri: client.policyUri,
    tos_uri: client.tosUri,
  }
  const faultOfRedirect = (uri: string) => checkRedirectUri(uri, client.dotlessRedirectSchemes)
  return [
    ...each('redirect_uris', client.redirectUris, faultOfRedirect),
    ...each('post_logout_redirect_uris', client.postLogoutRedirectUris, faultOfRedirect),
    ...each('allowed_origins', client.allowedOrigins, checkOrigin),
    ...each('scopes', client.scopes, checkScope),
    ...each('resources', client.resources, checkResource),
    ...each('roles', client.roles, checkRole),
    ...Object.entries(webAddresses)
      .filter(([, uri]) => uri !== undefined && !isWebAddress(uri))
      .map(([member]) => ({ pointer: `/${member}`, detail: 'must be an https:// URL (http:// on localhost)' })),
  ]
}

/** Members of a JWK that are secret: of key pairs, and of symmetric keys (RFC 7518 §6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const

/** Faults of combinations of members. */
function findCombinationFaults(client: ClientMetadata): ClientFault[] {
  const faults: ClientFault[] = []
  const refuse = (pointer: string, detail: string) => faults.push({ pointer, detail })
  if (isPublic(client)) {
    if (client.grantTypes.includes('client_credentials'))
      refuse(
        '/grant_types',
        'must not include client_credentials for a public client; without redirect_uris it is the default',
      )
    if (!client.requirePkce) refuse('/require_pkce', 'must be true for a public client')
    if (client.skipConsent) refuse('/skip_consent', 'must be false for a public client: anyone can use its client_id')
    if (client.mayIntrospect) refuse('/may_introspect', 'must be false for a public client')
  } else if (client.firstParty) refuse('/first_party', 'is for public clients: a confidential one has skip_consent')
  if (client.grantTypes.includes('authorization_code') && client.redirectUris.length === 0)
    refuse('/redirect_uris', 'must have at least one URI for authorization_code')
  if (client.authMethods.includes('private_key_jwt') && (client.jwks === undefined) === (client.jwksUri === undefined))
    refuse('/jwks', 'must be set for private_key_jwt exactly when jwks_uri is not')
  const privateKeys = (client.jwks?.keys ?? []).filter((key) => privateMembers.some((member) => member in key))
  if (privateKeys.length > 0) refuse('/jwks', 'must contain public keys only: omit private members such as d and k')
  if (client.assertionAudience === 'endpoint' && !client.authMethods.includes('private_key_jwt'))
    refuse('/assertion_audience', 'endpoint requires token_endpoint_auth_method private_key_jwt')
  return faults
}

function checkOrigin(origin: string): string | undefined {
  return URL.parse(origin)?.origin === origin ? undefined : 'must be an origin: scheme, host and port'
}

function checkScope(scope: string): string | undefined {
  return isScopeName(scope) ? undefined : 'must be the name of one scope: no spaces, quotes or backslashes'
}

/** Management roles are for users; a client has scopes. */
function checkRole(role: string): string | undefined {
  return isReservedRole(role) ? 'is reserved for users: give a client scopes instead' : undefined
}

/** The identifier of a resource is an absolute URI without fragment (RFC 8707 §2). */
function checkResource(resource: string): string | undefined {
  const isUri = URL.parse(resource) !== null && !resource.includes('#') && !/\s/.test(resource)
  return isUri ? undefined : 'must be an absolute URI without a fragment'
}

function isWebAddress(uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null || url.username !== '' || uri.includes('#')) return false
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
  )
}
