import { basePath } from '../cookies.ts'
import type { Provider, ProviderOptions } from './provider.ts'

/** Creates the client of the identity service. What it is made of is loaded at the first sign-in, not at the start. */
export function createProvider(options: ProviderOptions): Provider {
  const { issuer, client, publicUrl } = options
  let loaded: Promise<Omit<Provider, 'endSessionUrl'>> | undefined
  const load = () => {
    loaded ??= import('./openid.ts').then(({ createOpenIdProvider }) => createOpenIdProvider(options))
    return loaded
  }
  const after = { client_id: client.id, post_logout_redirect_uri: `${publicUrl}${basePath}/signed-out` }
  return {
    endSessionUrl: `${issuer}/end_session?${new URLSearchParams(after)}`,
    authorizationUrl: async (secrets) => (await load()).authorizationUrl(secrets),
    exchange: async (callback, secrets) => (await load()).exchange(callback, secrets),
    refresh: async (refreshToken) => (await load()).refresh(refreshToken),
    revoke: async (refreshToken) => (await load()).revoke(refreshToken),
    readLogoutToken: async (token) => (await load()).readLogoutToken(token),
  }
}
