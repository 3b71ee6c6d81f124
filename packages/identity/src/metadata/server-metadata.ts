import { assertionAlgorithms } from '../clients/assertion.ts'
import type { IdentityContext } from '../context/context.ts'
import { multiFactorAcr, singleFactorAcr } from '../model/authentication.ts'
import { authMethods, grantTypes, signingAlgorithms } from '../model/client.ts'
import { userClaims } from '../model/user.ts'
import { userScopes } from '../oauth/scope.ts'

/** The metadata of this server (RFC 8414 §2, OpenID Connect Discovery §3). */
export function serverMetadata({
  issuer,
  resources,
  languages,
  mfa,
}: Pick<IdentityContext, 'issuer' | 'resources' | 'languages' | 'mfa'>): Record<string, unknown> {
  const scopes = new Set([...userScopes, ...[...resources.values()].flatMap((resource) => resource.scopes ?? [])])
  return {
    ...endpoints(issuer),
    scopes_supported: [...scopes],
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: grantTypes,
    ...clientAuthentication(),
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    id_token_signing_alg_values_supported: signingAlgorithms,
    subject_types_supported: ['public'],
    acr_values_supported: mfa === 'off' ? [singleFactorAcr] : [singleFactorAcr, multiFactorAcr],
    claim_types_supported: ['normal'],
    claims_supported: ['sub', 'auth_time', 'acr', 'amr', 'sid', ...userClaims],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    display_values_supported: ['page'],
    ui_locales_supported: languages.locales,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }
}

function endpoints(issuer: string): Record<string, string> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    revocation_endpoint: `${issuer}/revoke`,
    introspection_endpoint: `${issuer}/introspect`,
    device_authorization_endpoint: `${issuer}/device_authorization`,
    pushed_authorization_request_endpoint: `${issuer}/par`,
    end_session_endpoint: `${issuer}/end_session`,
  }
}

function clientAuthentication(): Record<string, readonly string[]> {
  const confidential = authMethods.filter((method) => method !== 'none')
  return {
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_methods_supported: confidential,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  }
}
