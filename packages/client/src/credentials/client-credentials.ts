import type { Credentials } from '../call/credentials.ts'
import { TokenCache } from '../oauth/token-cache.ts'
import { TokenEndpoint, type TokenEndpointOptions } from '../oauth/token-endpoint.ts'
import { bearerHeaders, bearerToken } from './bearer-header.ts'

/** Options of {@link clientCredentials}. */
export interface ClientCredentialsOptions extends TokenEndpointOptions {
  /** Requested scopes. Default: the client's own. */
  readonly scope?: readonly string[]
  /** The resource server that the tokens are for (RFC 8707). */
  readonly resource?: string
}

/**
 * A service that calls the APIs as itself (RFC 6749 §4.4), by a secret or a private key. A token is renewed from
 * a minute before it expires, while calls go on with the old one; however many calls need one, it is requested once.
 *
 * @throws TypeError when the issuer is neither https nor on loopback
 * @example
 * ```ts
 * const credentials = clientCredentials({ issuer, clientId, clientSecret, scope: ['write:notifications'] })
 * ```
 */
export function clientCredentials(options: ClientCredentialsOptions): Credentials {
  const { scope, resource } = options
  const endpoint = new TokenEndpoint(options)
  const grant = {
    grant_type: 'client_credentials',
    ...(scope === undefined ? {} : { scope: scope.join(' ') }),
    ...(resource === undefined ? {} : { resource }),
  }
  const cache = new TokenCache((platform) => endpoint.request(platform, grant))
  return {
    headers: async (platform) => bearerHeaders(await cache.current(platform)),
    discard(refused) {
      cache.discard(bearerToken(refused))
      return true
    },
  }
}
