import { hash } from 'node:crypto'
import { BearerError, invalidToken } from '../core/bearer-error.ts'
import { callerOf } from '../core/caller.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { RecentCache, type Weighed } from '../core/recent-cache.ts'
import { frozen, isJsonObject, type JsonObject } from '../core/strict-json.ts'
import { authenticatedForm, type ClientAuthentication } from '../http/client-authentication.ts'
import { defaultExchange, endpointUrl, fetchJson } from '../http/fetch-json.ts'
import { checkClaims, type Expectation } from '../token/claims.ts'
import type { VerifiedToken } from '../token/verify.ts'

interface Memory {
  /** How long an answer is believed, 0 to 60, default 10. Longer means fewer questions and later refusals. */
  readonly rememberForSeconds?: number
  readonly clock?: Clock
}

export interface IntrospectionOptions extends Memory, ClientAuthentication {
  /** The issuer's introspection endpoint; https, or http on loopback. */
  readonly endpoint: string
  readonly allowInsecureHttp?: boolean
  readonly fetch?: typeof globalThis.fetch
}

/** For an issuer that lives in the same process. */
export interface LocalIntrospectionOptions extends Memory {
  /** What the issuer would answer about an access token (RFC 7662 §2.2). */
  readonly ask: (token: string) => Promise<object>
}

/** Asks the issuer about tokens that only it can read. */
export interface Introspection {
  /**
   * @param asking called before the issuer is asked about a token that is not remembered; what it throws refuses the token
   * @throws BearerError `invalid_token`, or `unavailable` when the issuer does not answer; at once or as a rejection
   */
  verify(token: string, expected: Expectation, asking?: () => void): VerifiedToken | Promise<VerifiedToken>
}

/** Undefined: the token is not active. */
interface Answer extends Weighed {
  readonly claims: JsonObject | undefined
  readonly until: number
}

const defaultRememberSeconds = 10
const longestRememberSeconds = 60
const entries = 10_000
const mostQuestions = 64

/**
 * Token introspection (RFC 7662) for opaque access tokens; hand it to `createBearer` as `introspection`. Many requests
 * with one token ask once, and answers are remembered for some seconds, inactive ones too.
 *
 * @throws TypeError naming the option that is wrong and what was expected
 */
export function createIntrospection(options: IntrospectionOptions | LocalIntrospectionOptions): Introspection {
  return new IssuerAnswers('ask' in options ? options.ask : askOverHttp(options), options)
}

type Ask = (token: string) => Promise<unknown>

function askOverHttp(options: IntrospectionOptions): Ask {
  const endpoint = endpointUrl('endpoint', options.endpoint, options.allowInsecureHttp)
  const exchange = { ...defaultExchange, fetch: options.fetch ?? defaultExchange.fetch }
  return async (token) => {
    const request = authenticatedForm(options, { token, token_type_hint: 'access_token' })
    const { status, body } = await fetchJson(endpoint, request, exchange)
    if (status !== 200) throw new Error(`the introspection endpoint answered ${status}, 200 was expected`)
    return body
  }
}

class IssuerAnswers implements Introspection {
  readonly #askIssuer: Ask
  readonly #rememberMs: number
  readonly #clock: Clock
  readonly #answers = new RecentCache<Answer>({ entries, weight: entries })
  readonly #questions = new Map<string, Promise<Answer>>()

  constructor(ask: Ask, options: Memory) {
    const seconds = options.rememberForSeconds ?? defaultRememberSeconds
    if (!(seconds >= 0 && seconds <= longestRememberSeconds)) {
      throw new TypeError(`rememberForSeconds must be a number of seconds from 0 to ${longestRememberSeconds}`)
    }
    this.#askIssuer = ask
    this.#rememberMs = seconds * 1000
    this.#clock = options.clock ?? systemClock
  }

  verify(token: string, expected: Expectation, asking?: () => void): VerifiedToken | Promise<VerifiedToken> {
    const digest = hash('sha256', token, 'latin1')
    const known = this.#answers.get(digest)
    if (known !== undefined && this.#clock.now() < known.until) return verified(known, expected)
    asking?.()
    return this.#ask(token, digest).then((answer) => verified(answer, expected))
  }

  #ask(token: string, digest: string): Promise<Answer> {
    const asked = this.#questions.get(digest)
    if (asked !== undefined) return asked
    if (this.#questions.size >= mostQuestions)
      return Promise.reject(unavailable('too many tokens are being asked about'))
    const question = this.#question(token)
      .then((claims) => {
        const answer = { claims, until: this.#clock.now() + this.#rememberMs, weight: 1 }
        this.#answers.set(digest, answer)
        return answer
      })
      .catch((cause: unknown) => {
        throw unavailable(cause)
      })
      .finally(() => this.#questions.delete(digest))
    this.#questions.set(digest, question)
    return question
  }

  async #question(token: string): Promise<JsonObject | undefined> {
    const answer = await this.#askIssuer(token)
    if (!isJsonObject(answer) || typeof answer.active !== 'boolean') {
      throw new TypeError('the introspection endpoint must answer {"active": true or false, …}')
    }
    return answer.active ? frozen(answer) : undefined
  }
}

/** A refresh token is active too, but no bearer token: the type must be told (RFC 7662 §2.2). */
function verified({ claims }: Answer, expected: Expectation): VerifiedToken {
  if (claims === undefined) throw invalidToken('inactive')
  if (typeof claims.token_type !== 'string' || claims.token_type.toLowerCase() !== 'bearer') throw invalidToken('type')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), keyId: undefined, validFrom, validUntil }
}

function unavailable(cause: unknown): BearerError {
  return new BearerError('unavailable', 'introspection', { cause, retryAfterSeconds: 1 })
}
