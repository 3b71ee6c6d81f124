import { hash } from 'node:crypto'
import { BearerError, invalidToken } from './bearer-error.ts'
import { RecentCache, type Weighed } from './cache.ts'
import { callerOf } from './caller.ts'
import { checkClaims, type Expectation } from './claims.ts'
import { authenticatedForm, type ClientAuthentication } from './client-authentication.ts'
import { type Clock, systemClock } from './clock.ts'
import { defaultExchange, endpointUrl, fetchJson } from './fetch-json.ts'
import { frozen, isJsonObject, type JsonObject } from './strict-json.ts'
import type { VerifiedToken } from './verify.ts'

export interface IntrospectionOptions extends ClientAuthentication {
  /** The issuer's introspection endpoint; https, or http on loopback. */
  readonly endpoint: string
  /** How long an answer is believed, 0 to 60, default 10. Longer means fewer questions and later refusals. */
  readonly rememberForSeconds?: number
  readonly allowInsecureHttp?: boolean
  readonly clock?: Clock
  readonly fetch?: typeof globalThis.fetch
}

/** Asks the issuer about tokens that only it can read. */
export interface Introspection {
  /**
   * @throws BearerError `invalid_token`, or `unavailable` when the issuer does not answer; at once or as a rejection
   */
  verify(token: string, expected: Expectation): VerifiedToken | Promise<VerifiedToken>
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
export function createIntrospection(options: IntrospectionOptions): Introspection {
  return new IssuerAnswers(options)
}

class IssuerAnswers implements Introspection {
  readonly #endpoint: URL
  readonly #client: ClientAuthentication
  readonly #rememberMs: number
  readonly #clock: Clock
  readonly #exchange: typeof defaultExchange
  readonly #answers = new RecentCache<Answer>({ entries, weight: entries })
  readonly #questions = new Map<string, Promise<Answer>>()

  constructor(options: IntrospectionOptions) {
    const seconds = options.rememberForSeconds ?? defaultRememberSeconds
    if (!(seconds >= 0 && seconds <= longestRememberSeconds)) {
      throw new TypeError(`rememberForSeconds must be a number of seconds from 0 to ${longestRememberSeconds}`)
    }
    this.#endpoint = endpointUrl('endpoint', options.endpoint, options.allowInsecureHttp)
    this.#client = options
    this.#rememberMs = seconds * 1000
    this.#clock = options.clock ?? systemClock
    this.#exchange = { ...defaultExchange, fetch: options.fetch ?? defaultExchange.fetch }
  }

  verify(token: string, expected: Expectation): VerifiedToken | Promise<VerifiedToken> {
    const digest = hash('sha256', token, 'latin1')
    const known = this.#answers.get(digest)
    if (known !== undefined && this.#clock.now() < known.until) return verified(known, expected)
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
    const request = authenticatedForm(this.#client, { token, token_type_hint: 'access_token' })
    const answer = await fetchJson(this.#endpoint, request, this.#exchange)
    if (answer.status !== 200) throw new Error(`the introspection endpoint answered ${answer.status}, 200 was expected`)
    if (!isJsonObject(answer.body) || typeof answer.body.active !== 'boolean') {
      throw new TypeError('the introspection endpoint must answer {"active": true or false, …}')
    }
    return answer.body.active ? frozen(answer.body) : undefined
  }
}

/** A refresh token is active too, but no bearer token: the type must be told (RFC 7662 §2.2). */
function verified({ claims }: Answer, expected: Expectation): VerifiedToken {
  if (claims === undefined) throw invalidToken('inactive')
  if (typeof claims.token_type !== 'string' || claims.token_type.toLowerCase() !== 'bearer') throw invalidToken('type')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), validFrom, validUntil }
}

function unavailable(cause: unknown): BearerError {
  return new BearerError('unavailable', 'introspection', { cause, retryAfterSeconds: 1 })
}
