import { isJsonObject } from '../core/strict-json.ts'
import { endpointUrl, type FetchOptions, fetchJson, type JsonResponse } from '../http/fetch-json.ts'

/**
 * Finds the URL of an issuer's keys in its metadata (RFC 8414 §3, else OpenID Connect Discovery §4). The metadata must
 * name the same issuer (RFC 8414 §3.3), or the keys of one issuer would verify tokens of another. The URL is fetched
 * until it is found once.
 *
 * @throws TypeError when the issuer is not a secure URL
 */
export function createJwksUriDiscovery(
  issuer: string,
  allowInsecureHttp: boolean,
  exchange: FetchOptions,
): () => Promise<URL> {
  const url = endpointUrl('issuer', issuer, allowInsecureHttp)
  const path = url.pathname.replace(/\/$/, '')
  const addresses = [
    new URL(`/.well-known/oauth-authorization-server${path}`, url),
    new URL(`${path}/.well-known/openid-configuration`, url),
  ]
  let found: URL | undefined
  return async () => {
    found ??= jwksUriOf(issuer, await fetchMetadata(addresses, exchange), allowInsecureHttp)
    return found
  }
}

async function fetchMetadata(addresses: readonly URL[], exchange: FetchOptions): Promise<JsonResponse> {
  let status = 0
  for (const address of addresses) {
    const answer = await fetchJson(address, { headers: { accept: 'application/json' } }, exchange)
    if (answer.status === 200) return answer
    status = answer.status
  }
  throw new Error(`the issuer's metadata answered ${status}, 200 was expected`)
}

function jwksUriOf(issuer: string, { body }: JsonResponse, allowInsecureHttp: boolean): URL {
  if (!isJsonObject(body) || body.issuer !== issuer)
    throw new TypeError(`metadata of the issuer ${issuer} was expected`)
  if (typeof body.jwks_uri !== 'string') throw new TypeError("jwks_uri is missing in the issuer's metadata")
  const url = endpointUrl('jwks_uri', body.jwks_uri, allowInsecureHttp)
  // A remote issuer does not serve its keys on this machine: another program would answer.
  if (url.protocol === 'http:' && issuer.startsWith('https:') && !allowInsecureHttp)
    throw new TypeError('jwks_uri must be https, as its issuer is')
  return url
}
