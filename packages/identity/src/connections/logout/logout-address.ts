import { buildEndSessionUrl, type Configuration } from 'openid-client'
import { afterProviderLogoutPath } from '../../model/connection.ts'

/** What is sent along to the provider. */
export interface ProviderLogoutRequest {
  readonly idToken: string | undefined
  readonly state: string
}

/**
 * The address where a provider signs the browser out and sends it back (OpenID Connect RP-Initiated Logout §2). Undefined
 * for a provider without one.
 */
export function providerLogoutAddress(
  configuration: Configuration,
  issuer: string,
  { idToken, state }: ProviderLogoutRequest,
): URL | undefined {
  const { end_session_endpoint: endpoint = '', issuer: provider } = configuration.serverMetadata()
  // Only the scheme that the metadata itself came by: nothing that a browser would run.
  if (URL.parse(endpoint)?.protocol !== new URL(provider).protocol) return undefined
  return buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: `${issuer}${afterProviderLogoutPath}`,
    state,
    ...(idToken === undefined ? {} : { id_token_hint: idToken }),
  })
}
