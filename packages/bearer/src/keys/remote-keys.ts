import { isJsonObject } from '../core/strict-json.ts'
import { type FetchOptions, fetchJson } from '../http/fetch-json.ts'
import type { KeyReading, KeySource } from './key-source.ts'

const defaultMaxAgeSeconds = 600
const minMaxAgeSeconds = 60
const maxMaxAgeSeconds = 86_400
/** Unknown key ids cause at most one fetch in this time. */
const unknownKidIntervalMs = 30_000
const unknownKidMs = 30_000

/**
 * A JWK Set at a URL (RFC 7517 §5). The URL comes from the configuration or from the issuer's metadata, never from a
 * token.
 *
 * @param address returns the URL
 */
export function remoteKeys(address: () => Promise<URL>, exchange: FetchOptions): KeySource {
  async function read(etag: string | undefined): Promise<KeyReading> {
    const headers = new Headers({ accept: 'application/jwk-set+json, application/json' })
    if (etag !== undefined) headers.set('if-none-match', etag)
    const answer = await fetchJson(await address(), { headers }, exchange)
    const maxAgeMs = maxAgeSeconds(answer.headers.get('cache-control')) * 1000
    if (answer.status === 304 && etag !== undefined) return { keys: undefined, maxAgeMs }
    if (answer.status !== 200) throw new Error(`the JWK Set answered ${answer.status}, 200 was expected`)
    if (!isJsonObject(answer.body) || !Array.isArray(answer.body.keys))
      throw new TypeError('the response is not a JWK Set')
    return { keys: answer.body.keys, etag: answer.headers.get('etag') ?? undefined, maxAgeMs }
  }
  return { read, unknownKidIntervalMs, unknownKidMs }
}

function maxAgeSeconds(cacheControl: string | null): number {
  const declared = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(cacheControl ?? '')?.[1]
  const seconds = declared === undefined ? defaultMaxAgeSeconds : Number(declared)
  return Math.min(maxMaxAgeSeconds, Math.max(minMaxAgeSeconds, seconds))
}
