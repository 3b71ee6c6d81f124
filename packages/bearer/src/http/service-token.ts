import { type Clock, isAhead, systemClock } from '../core/clock.ts'
import { isJsonObject } from '../core/strict-json.ts'
import { authenticatedForm, type ClientAuthentication } from './client-authentication.ts'
import { defaultFetchOptions, endpointUrl, type FetchOptions, fetchJson, type JsonResponse } from './fetch-json.ts'

/** The access token of a service that calls another as itself. Made by {@link createServiceToken}. */
export interface ServiceToken {
  /** A token that is valid for some time yet. Rejects when none can be obtained. */
  current(): Promise<string>
  /** Drops a token that a server has refused, so that the next call requests a new one. */
  discard(token: string): void
}

/** Options of {@link createServiceToken}. */
export interface ServiceTokenOptions extends ClientAuthentication {
  /** URL of the issuer's token endpoint; https, or http on loopback. */
  readonly tokenEndpoint: string
  /** Requested scope: space-separated names. Default: the client's own. */
  readonly scope?: string
  /** The resource server that the token is for (RFC 8707). */
  readonly resource?: string
  /** Allows http to other hosts, on private networks. Default: false. */
  readonly allowInsecureHttp?: boolean
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

interface IssuedToken {
  readonly token: string
  readonly requestedAt: number
  /** From here on a new one is requested, while this one is used on. */
  readonly renewAt: number
  /** From here on callers wait for the new one: this one may expire on its way. */
  readonly waitAt: number
  readonly expiresAt: number
}

/** A token is renewed when a fifth of its lifetime is left, at the earliest a minute before it expires. */
const renewFraction = 0.2
const maxRenewMs = 60_000
const inFlightMs = 5_000
const defaultLifetimeSeconds = 300
const backoffMs = 1_000
/** The longest that a Retry-After of the token endpoint is heeded. */
const maxBackoffMs = 60_000

interface Failure {
  readonly cause: unknown
  readonly until: number
  readonly backoffMs: number
}

/** A token endpoint that answered anything but a token, and when it may be asked again. */
class Refused extends Error {
  readonly retryAfterMs: number

  constructor({ status, body, headers }: JsonResponse) {
    super(`the token endpoint answered ${status}${oauthError(body)}, 200 was expected`)
    const seconds = headers.get('retry-after') ?? ''
    this.retryAfterMs = /^\d{1,9}$/.test(seconds) ? Math.min(Number(seconds) * 1_000, maxBackoffMs) : 0
  }
}

/**
 * Obtains access tokens by client credentials (RFC 6749 §4.4) and caches each. It is renewed while callers use it on;
 * only in its last seconds they wait. Callers share one request; after a failure there is none for a second, or for what
 * Retry-After says, up to a minute.
 *
 * @throws TypeError when the URL of the token endpoint is not secure
 * @example
 * ```ts
 * const token = createServiceToken({ tokenEndpoint: 'https://auth.example.com/token', clientId, clientSecret })
 * await fetch(url, { headers: { authorization: `Bearer ${await token.current()}` } })
 * ```
 */
export function createServiceToken(options: ServiceTokenOptions): ServiceToken {
  return new ClientCredentials(options)
}

class ClientCredentials implements ServiceToken {
  readonly #options: ServiceTokenOptions
  readonly #endpoint: URL
  readonly #exchange: FetchOptions
  readonly #clock: Clock
  #issued: IssuedToken | undefined
  #pending: Promise<IssuedToken> | undefined
  #failed: Failure | undefined

  constructor(options: ServiceTokenOptions) {
    this.#options = options
    this.#endpoint = endpointUrl('tokenEndpoint', options.tokenEndpoint, options.allowInsecureHttp)
    this.#exchange = { ...defaultFetchOptions, fetch: options.fetch ?? defaultFetchOptions.fetch }
    this.#clock = options.clock ?? systemClock
  }

  async current(): Promise<string> {
    const now = this.#clock.now()
    const issued = this.#issued
    if (issued !== undefined && issued.requestedAt <= now && now < issued.waitAt) {
      if (now >= issued.renewAt) this.#requestOnce(now).catch(() => {})
      return issued.token
    }
    try {
      return (await this.#requestOnce(now)).token
    } catch (cause) {
      if (issued !== undefined && issued === this.#issued && now < issued.expiresAt) return issued.token
      throw cause
    }
  }

  discard(token: string): void {
    if (this.#issued?.token !== token) return
    this.#issued = undefined
    this.#failed = undefined
  }

  #requestOnce(now: number): Promise<IssuedToken> {
    if (this.#pending !== undefined) return this.#pending
    if (this.#failed !== undefined && isAhead(this.#failed.until, this.#failed.backoffMs, now))
      return Promise.reject(this.#failed.cause)
    this.#pending = this.#request(now)
      .then((issued) => {
        this.#issued = issued
        this.#failed = undefined
        return issued
      })
      .catch((cause: unknown) => {
        const waitMs = Math.max(backoffMs, cause instanceof Refused ? cause.retryAfterMs : 0)
        this.#failed = { cause, until: this.#clock.now() + waitMs, backoffMs: waitMs }
        throw cause
      })
      .finally(() => {
        this.#pending = undefined
      })
    return this.#pending
  }

  async #request(now: number): Promise<IssuedToken> {
    const { scope, resource } = this.#options
    const fields = {
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
      ...(resource === undefined ? {} : { resource }),
    }
    const answer = await fetchJson(this.#endpoint, authenticatedForm(this.#options, fields), this.#exchange)
    if (answer.status !== 200 || !isJsonObject(answer.body)) throw new Refused(answer)
    const { access_token: token, token_type: type, expires_in: expiresIn } = answer.body
    if (typeof token !== 'string' || typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
      throw new TypeError('the token endpoint must answer with an access_token of token_type Bearer')
    }
    const lifeMs = (typeof expiresIn === 'number' && expiresIn > 0 ? expiresIn : defaultLifetimeSeconds) * 1000
    const expiresAt = now + lifeMs
    const renewAt = expiresAt - Math.min(lifeMs * renewFraction, maxRenewMs)
    return { token, requestedAt: now, renewAt, waitAt: Math.max(renewAt, expiresAt - inFlightMs), expiresAt }
  }
}

/** The error code of RFC 6749 §5.2, if there is one. Nothing else of the response is repeated. */
function oauthError(body: unknown): string {
  const error = isJsonObject(body) ? body.error : undefined
  return typeof error === 'string' && /^[\w-]{1,64}$/.test(error) ? ` ${error}` : ''
}
