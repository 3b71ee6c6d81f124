import { hash } from 'node:crypto'
import { BearerError, invalidToken } from '../core/bearer-error.ts'
import { callerOf } from '../core/caller.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { RecentCache, type Weighted } from '../core/recent-cache.ts'
import { freezeJson, isJsonObject, type JsonObject } from '../core/strict-json.ts'
import { authenticatedForm, type ClientAuthentication } from '../http/client-authentication.ts'
import { defaultFetchOptions, endpointUrl, fetchJson } from '../http/fetch-json.ts'
import { checkClaims, type ExpectedClaims } from '../token/claims.ts'
import type { VerifiedToken } from '../token/verify.ts'

interface CacheOptions {
  /** How long an answer is believed, 0 to 60, default 10. Longer means fewer questions and later refusals. */
  readonly cacheForSeconds?: number
  readonly clock?: Clock
}

export interface IntrospectionOptions extends CacheOptions, ClientAuthentication {
  /** The issuer's introspection endpoint; https, or http on loopback. */
  readonly endpoint: string
  readonly allowInsecureHttp?: boolean
  readonly fetch?: typeof globalThis.fetch
}

/** For an issuer that lives in the same process. */
export interface LocalIntrospectionOptions extends CacheOptions {
  /** What the issuer would answer about an access token (RFC 7662 §2.2). */
  readonly introspect: (token: string) => Promise<object>
}

/** Asks the issuer about tokens that only it can read. */
export interface Introspection {
  /**
   * @param beforeRequest called before the issuer is asked about a token that is not remembered; what it throws refuses the token
   * @throws BearerError `invalid_token`, or `unavailable` when the issuer does not answer; at once or as a rejection
   */
  verify(token: string, expected: ExpectedClaims, beforeRequest?: () => void): VerifiedToken | Promise<VerifiedToken>
}

/** Undefined: the token is not active. */
interface CachedResponse extends Weighted {
  readonly claims: JsonObject | undefined
  readonly until: number
}

const defaultCacheSeconds = 10
const maxCacheSeconds = 60
const entries = 10_000
const maxPending = 64

/**
 * Token introspection (RFC 7662) for opaque access tokens; hand it to `createBearer` as `introspection`. Many requests
 * with one token ask once, and answers are remembered for some seconds, inactive ones too.
 *
 * @throws TypeError naming the option that is wrong and what was expected
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
    if (known !== undefined && this.#clock.now() < known.until) return verifyResponse(known, expected)
    beforeRequest?.()
    return this.#introspectOnce(token, digest).then((answer) => verifyResponse(answer, expected))
  }

  #introspectOnce(token: string, digest: string): Promise<CachedResponse> {
    const pending = this.#pending.get(digest)
    if (pending !== undefined) return pending
    if (this.#pending.size >= maxPending) return Promise.reject(unavailable('too many tokens are being asked about'))
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
      throw new TypeError('the introspection endpoint must answer {"active": true or false, …}')
    }
    return answer.active ? freezeJson(answer) : undefined
  }
}

/** A refresh token is active too, but no bearer token: the type must be told (RFC 7662 §2.2). */
function verifyResponse({ claims }: CachedResponse, expected: ExpectedClaims): VerifiedToken {
  if (claims === undefined) throw invalidToken('inactive')
  if (typeof claims.token_type !== 'string' || claims.token_type.toLowerCase() !== 'bearer') throw invalidToken('type')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), keyId: undefined, validFrom, validUntil }
}

function unavailable(cause: unknown): BearerError {
  return new BearerError('unavailable', 'introspection', { cause, retryAfterSeconds: 1 })
}
