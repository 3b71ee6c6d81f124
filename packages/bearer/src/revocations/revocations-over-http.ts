import { isJsonObject } from '../core/strict-json.ts'
import { defaultFetchOptions, endpointUrl, fetchJson } from '../http/fetch-json.ts'
import type { ServiceToken } from '../http/service-token.ts'
import type { ReadRevocations, RevocationPage } from './revocations.ts'

export interface RevocationsReaderOptions {
  /** Address of the feed; https, or http on loopback. */
  readonly url: string
  readonly token: ServiceToken
  readonly allowInsecureHttp?: boolean
  readonly fetch?: typeof globalThis.fetch
}

const largestPage = 4 * 1024 * 1024

/**
 * Reads an issuer's revocation feed: `GET <url>?after=<cursor>` with a service token.
 *
 * @throws TypeError when the address is not fit; the returned function rejects when the feed does not answer as it should
 */
export function createRevocationsReader(options: RevocationsReaderOptions): ReadRevocations {
  const feed = endpointUrl('url', options.url, options.allowInsecureHttp)
  const exchange = { ...defaultFetchOptions, fetch: options.fetch ?? defaultFetchOptions.fetch, maxBytes: largestPage }
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
  throw new TypeError('the revocation feed must answer {"revocations":[{…}],"next":"…"}')
}
