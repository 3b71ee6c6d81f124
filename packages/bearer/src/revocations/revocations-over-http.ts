import { isJsonObject } from '../core/strict-json.ts'
import { defaultFetchOptions, endpointUrl, fetchJson } from '../http/fetch-json.ts'
import type { ServiceToken } from '../http/service-token.ts'
import type { ReadRevocations, RevocationPage } from './revocations.ts'

/** Options of {@link createRevocationsReader}. */
export interface RevocationsReaderOptions {
  /** URL of the feed; https, or http on loopback. */
  readonly url: string
  /** The token that reads the feed. */
  readonly token: ServiceToken
  /** Allows http to other hosts, on private networks. Default: false. */
  readonly allowInsecureHttp?: boolean
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

const maxPageBytes = 4 * 1024 * 1024

/**
 * Creates a reader of an issuer's revocation feed over HTTP: `GET <url>?after=<cursor>` with a service token. The
 * returned function rejects when the response is not the expected one.
 *
 * @throws TypeError when the URL is not secure
 * @example
 * ```ts
 * const read = createRevocationsReader({ url: 'https://auth.example.com/revocations', token })
 * const revocations = createRevocations({ read })
 * ```
 */
export function createRevocationsReader(options: RevocationsReaderOptions): ReadRevocations {
  const feed = endpointUrl('url', options.url, options.allowInsecureHttp)
  const exchange = { ...defaultFetchOptions, fetch: options.fetch ?? defaultFetchOptions.fetch, maxBytes: maxPageBytes }
  return async (after) => {
    const url = new URL(feed)
    if (after !== undefined) url.searchParams.set('after', after)
    const token = await options.token.current()
    const answer = await fetchJson(url, { headers: { authorization: `Bearer ${token}` } }, exchange)
    if (answer.status === 401) options.token.discard(token)
    if (after !== undefined && (answer.status === 400 || answer.status === 410)) return undefined
    if (answer.status !== 200) throw new Error(`the revocation feed answered ${answer.status}, 200 was expected`)
    return pageOf(answer.body)
  }
}

function pageOf(body: unknown): RevocationPage {
  if (isJsonObject(body) && typeof body.next === 'string' && Array.isArray(body.revocations)) {
    const { revocations, next } = body
    if (revocations.every(isJsonObject)) return { revocations, next }
  }
  throw new TypeError('the revocation feed must answer with {"revocations":[{…}],"next":"…"}')
}
