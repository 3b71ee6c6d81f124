import { hash } from 'node:crypto'
import { BearerError, invalidToken } from '../core/bearer-error.ts'
import { callerOf } from '../core/caller.ts'
import { type Clock, isAhead, systemClock } from '../core/clock.ts'
import { RecentCache, type Weighted } from '../core/recent-cache.ts'
import { freezeJson, isJsonObject, type JsonObject } from '../core/strict-json.ts'
import { authenticatedForm, type ClientAuthentication } from '../http/client-authentication.ts'
import { defaultFetchOptions, endpointUrl, fetchJson } from '../http/fetch-json.ts'
import { checkClaims, type ExpectedClaims } from '../token/claims.ts'
import type { VerifiedToken } from '../token/verify.ts'

interface CacheOptions {
  /** How long a response is cached, 0 to 60 seconds. Longer means fewer requests and later refusals. Default: 10. */
  readonly cacheForSeconds?: number
  /** Default: the system clock. */
  readonly clock?: Clock
}

/** Options of {@link createIntrospection} for an issuer in another process. */
export interface IntrospectionOptions extends CacheOptions, ClientAuthentication {
  /** URL of the issuer's introspection endpoint; https, or http on loopback. */
  readonly endpoint: string
  /** Allows http to other hosts, on private networks. Default: false. */
  readonly allowInsecureHttp?: boolean
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/** Options of {@link createIntrospection} for an issuer in the same process. */
export interface LocalIntrospectionOptions extends CacheOptions {
  /** Returns the introspection response for an access token (RFC 7662 §2.2). */
  readonly introspect: (token: string) => Promise<object>
}

/** Verifies opaque access tokens at their issuer. Made by {@link createIntrospection}. */
export interface Introspection {
  /**
   * Verifies a token. Returns at once when its response is cached, else a promise.
   *
   * @param beforeRequest called before an uncached token is sent to the issuer; what it throws refuses the token
   * @throws BearerError `invalid_token`, or `unavailable` when the issuer does not answer; at once or as a rejection
   */
  verify(token: string, expected: ExpectedClaims, beforeRequest?: () => void): VerifiedToken | Promise<VerifiedToken>
}

/** A cached response. Without claims the token is not active. */
interface CachedResponse extends Weighted {
  readonly claims: JsonObject | undefined
  readonly until: number
}

const defaultCacheSeconds = 10
const maxCacheSeconds = 60
const entries = 10_000
const maxPending = 64

/**
 * Creates the introspection of opaque access tokens (RFC 7662), to be passed to `createBearer` as `introspection`.
 * Simultaneous requests with one token share one introspection request. Responses are cached, inactive ones too.
 *
 * @throws TypeError naming the invalid option and what was expected
 * @example
 * ```ts
 * const endpoint = 'https://auth.example.com/introspect'
 * const introspection = createIntrospection({ endpoint, clientId, clientSecret })
 * const bearer = createBearer({ issuer, audience, introspection })
 * ```
 */
export function createIntrospection(options: IntrospectionOptions | LocalIntrospectionOptions): Introspection {
  return new CachedIntrospection('introspect' in options ? options.introspect : introspectOverHttp(options), options)
}

type Introspect = (token: string) => Promise<unknown>

function introspectOverHttp(options: IntrospectionOptions): Introspect {
  const endpoint = endpointUrl('endpoint', options.endpoint, options.allowInsecureHttp)
  const exchange = { ...defaultFetchOptions, fetch: options.fetch ?? defaultFetchOptions.fetch }
  return async (token) => {
    const request = authenticatedForm(options, { token, token_type_hint: 'access_token' })
    const { status, body } = await fetchJson(endpoint, request, exchange)
    if (status !== 200) throw new Error(`the introspection endpoint answered ${status}, 200 was expected`)
    return body
  }
}

class CachedIntrospection implements Introspection {
  readonly #introspect: Introspect
  readonly #cacheMs: number
  readonly #clock: Clock
  readonly #responses = new RecentCache<CachedResponse>({ entries, weight: entries })
  readonly #pending = new Map<string, Promise<CachedResponse>>()

  constructor(introspect: Introspect, options: CacheOptions) {
    const seconds = options.cacheForSeconds ?? defaultCacheSeconds
    if (!(seconds >= 0 && seconds <= maxCacheSeconds)) {
      throw new TypeError(`cacheForSeconds must be a number of seconds from 0 to ${maxCacheSeconds}`)
    }
    this.#introspect = introspect
    this.#cacheMs = seconds * 1000
    this.#clock = options.clock ?? systemClock
  }

  verify(token: string, expected: ExpectedClaims, beforeRequest?: () => void): VerifiedToken | Promise<VerifiedToken> {
    const digest = hash('sha256', token, 'latin1')
    const known = this.#responses.get(digest)
    if (known !== undefined && isAhead(known.until, this.#cacheMs, this.#clock.now()))
      return verifyResponse(known, expected)
    beforeRequest?.()
    return this.#introspectOnce(token, digest).then((answer) => verifyResponse(answer, expected))
  }

  #introspectOnce(token: string, digest: string): Promise<CachedResponse> {
    const pending = this.#pending.get(digest)
    if (pending !== undefined) return pending
    if (this.#pending.size >= maxPending)
      return Promise.reject(unavailable('too many introspection requests are pending'))
    const request = this.#requestClaims(token)
      .then((claims) => {
        const answer = { claims, until: this.#clock.now() + this.#cacheMs, weight: 1 }
        this.#responses.set(digest, answer)
        return answer
      })
      .catch((cause: unknown) => {
        throw unavailable(cause)
      })
      .finally(() => this.#pending.delete(digest))
    this.#pending.set(digest, request)
    return request
  }

  async #requestClaims(token: string): Promise<JsonObject | undefined> {
    const answer = await this.#introspect(token)
    if (!isJsonObject(answer) || typeof answer.active !== 'boolean') {
      throw new TypeError('the introspection endpoint must answer with {"active": true or false, …}')
    }
    return answer.active ? freezeJson(answer) : undefined
  }
}

/** A refresh token can be active too, but is no bearer token, so `token_type` is required (RFC 7662 §2.2). */
function verifyResponse({ claims }: CachedResponse, expected: ExpectedClaims): VerifiedToken {
  if (claims === undefined) throw invalidToken('inactive')
  if (typeof claims.token_type !== 'string' || claims.token_type.toLowerCase() !== 'bearer') throw invalidToken('type')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), keyId: undefined, validFrom, validUntil }
}

function unavailable(cause: unknown): BearerError {
  return new BearerError('unavailable', 'introspection', { cause, retryAfterSeconds: 1 })
}
