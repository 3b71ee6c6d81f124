import { authMethods, grantTypes } from '../client.ts'
import type { Parts } from '../parts.ts'
import { userScopes } from '../scope.ts'
import { userClaims } from '../user.ts'

/** The metadata of this server (RFC 8414 §2, OpenID Connect Discovery §3). */
export function serverMetadata({ issuer, resources }: Pick<Parts, 'issuer' | 'resources'>): Record<string, unknown> {
  const scopes = new Set([...userScopes, ...[...resources.values()].flatMap((resource) => resource.scopes ?? [])])
  return {
    issuer,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: [...scopes],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: authMethods,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    subject_types_supported: ['public'],
    claims_supported: ['sub', ...userClaims],
  }
}
