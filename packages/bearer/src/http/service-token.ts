import { type Clock, systemClock } from '../core/clock.ts'
import { isJsonObject } from '../core/strict-json.ts'
import { authenticatedForm, type ClientAuthentication } from './client-authentication.ts'
import { defaultExchange, type Exchange, endpointUrl, fetchJson } from './fetch-json.ts'

/** The token of a service that calls another in its own name. */
export interface ServiceToken {
  /** A token that is good for some time yet. Rejects when none can be had. */
  current(): Promise<string>
  /** Says that this token was refused, so that it is not handed out again. */
  discard(token: string): void
}

export interface ServiceTokenOptions extends ClientAuthentication {
  /** https, or http on loopback. */
  readonly tokenEndpoint: string
  /** Space-separated. */
  readonly scope?: string
  /** The resource server that the token is for (RFC 8707). */
  readonly resource?: string
  readonly allowInsecureHttp?: boolean
  readonly clock?: Clock
  readonly fetch?: typeof globalThis.fetch
}

interface Held {
  readonly token: string
  /** Another one is asked for from here on. */
  readonly renewAt: number
  readonly expiresAt: number
}

/** A token is replaced when a fifth of its life is left, but no earlier than a minute before its end. */
const renewPart = 0.2
const longestRenewMs = 60_000
const presumedLifeSeconds = 300
const backoffMs = 1_000

/**
 * Access tokens by client credentials (RFC 6749 §4.4), kept until shortly before they expire. One request at a time,
 * however many wait; after a failure none for a second.
 *
 * @throws TypeError when the token endpoint is not fit for a secret
 */
export function serviceToken(options: ServiceTokenOptions): ServiceToken {
  return new ClientCredentials(options)
}

class ClientCredentials implements ServiceToken {
  readonly #options: ServiceTokenOptions
  readonly #endpoint: URL
  readonly #exchange: Exchange
  readonly #clock: Clock
  #held: Held | undefined
  #asking: Promise<Held> | undefined
  #failed: { readonly until: number; readonly cause: unknown } | undefined

  constructor(options: ServiceTokenOptions) {
    this.#options = options
    this.#endpoint = endpointUrl('tokenEndpoint', options.tokenEndpoint, options.allowInsecureHttp)
    this.#exchange = { ...defaultExchange, fetch: options.fetch ?? defaultExchange.fetch }
    this.#clock = options.clock ?? systemClock
  }

  async current(): Promise<string> {
    const now = this.#clock.now()
    const held = this.#held
    if (held !== undefined && now < held.renewAt) return held.token
    try {
      return (await this.#ask(now)).token
    } catch (cause) {
      if (held !== undefined && held === this.#held && now < held.expiresAt) return held.token
      throw cause
    }
  }

  discard(token: string): void {
    if (this.#held?.token === token) this.#held = undefined
  }

  #ask(now: number): Promise<Held> {
    if (this.#asking !== undefined) return this.#asking
    if (this.#failed !== undefined && now < this.#failed.until) return Promise.reject(this.#failed.cause)
    this.#asking = this.#request(now)
      .then((held) => {
        this.#held = held
        this.#failed = undefined
        return held
      })
      .catch((cause: unknown) => {
        this.#failed = { until: now + backoffMs, cause }
        throw cause
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }

  async #request(now: number): Promise<Held> {
    const { scope, resource } = this.#options
    const fields = {
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
      ...(resource === undefined ? {} : { resource }),
    }
    const answer = await fetchJson(this.#endpoint, authenticatedForm(this.#options, fields), this.#exchange)
    if (answer.status !== 200 || !isJsonObject(answer.body)) {
      throw new Error(`the token endpoint answered ${answer.status}${oauthError(answer.body)}, 200 was expected`)
    }
    const { access_token: token, token_type: type, expires_in: expiresIn } = answer.body
    if (typeof token !== 'string' || typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
      throw new TypeError('the token endpoint must answer an access_token of token_type Bearer')
    }
    const lifeMs = (typeof expiresIn === 'number' && expiresIn > 0 ? expiresIn : presumedLifeSeconds) * 1000
    return { token, renewAt: now + lifeMs - Math.min(lifeMs * renewPart, longestRenewMs), expiresAt: now + lifeMs }
  }
}

/** The RFC 6749 §5.2 error word, when there is one; nothing else of the answer is repeated. */
function oauthError(body: unknown): string {
  const error = isJsonObject(body) ? body.error : undefined
  return typeof error === 'string' && /^[\w-]{1,64}$/.test(error) ? ` ${error}` : ''
}
