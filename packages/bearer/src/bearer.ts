import { BearerError, invalidToken } from './core/bearer-error.ts'
import { type Caller, hasScope } from './core/caller.ts'
import { RecentCache, type Weighed } from './core/recent-cache.ts'
import { bearerToken, type Credentials } from './http/authorization.ts'
import { IssuerKeys } from './keys/issuer-keys.ts'
import type { KeySet, VerificationKey } from './keys/key-set.ts'
import { type BearerOptions, type Settings, settingsOf } from './options.ts'
import { checkTimes } from './token/claims.ts'
import { looksLikeJwt, parseCompact } from './token/compact.ts'
import { TokenHeaders } from './token/token-header.ts'
import { type VerifiedToken, verifyToken } from './token/verify.ts'

/** What one endpoint asks for beyond a valid token. */
export interface Demand {
  /** Space-separated names, all of which are needed. */
  readonly scope?: string
  /**
   * Called before the signature of a token that is not remembered is checked, or the issuer is asked about it, which is
   * what costs; what it throws refuses the token. For a brake on those who send forged ones.
   */
  readonly verifying?: () => void
}

/** Checks the bearer tokens of one resource server. */
export interface Bearer {
  /**
   * Who makes this request. At once when the token is remembered or the issuer's keys are at hand, else as a promise;
   * `await` takes both.
   *
   * @param credentials the Authorization header, all its values, or the headers it is in
   * @throws BearerError at once or as a rejection, and nothing else
   */
  authenticate(credentials: Credentials, demand?: Demand): Caller | Promise<Caller>
  /** Reads the issuer's keys, so that the first request need not wait. Resolves to whether there are keys to use. */
  prefetch(): Promise<boolean>
  /** Reads the issuer's keys again, whatever their age: for a rotation or a withdrawal that cannot wait. Never rejects. */
  refreshKeys(): Promise<void>
}

/** Longest token that is looked at, in characters. */
const longestToken = 8192
/** Remembered tokens are verified again after this long. */
const rememberMs = 60_000
const refusalMs = 10_000
const refusals = 1_000
/** Of tokens that were refused, so many characters are remembered. */
const refusalCharacters = 1024 * 1024

/** One flat object: on a hit, memory is what takes time. */
interface Remembered extends VerifiedToken, Weighed {
  readonly generation: number
  readonly freshUntil: number
}

interface Refused extends Weighed {
  readonly error: BearerError
  readonly generation: number
  readonly until: number
}

/**
 * Checks the access tokens of one issuer for one audience (RFC 6750, RFC 9068).
 *
 * @throws TypeError naming the option that is wrong and what was expected
 */
export function createBearer(options: BearerOptions): Bearer {
  return new TokenCheck(settingsOf(options))
}

class TokenCheck implements Bearer {
  readonly #settings: Settings
  readonly #keys: IssuerKeys
  readonly #headers: TokenHeaders
  /** By the whole token: the runtime hashes all of it and compares all of it, several times faster than a SHA-256 of ours. */
  readonly #remembered: RecentCache<Remembered>
  readonly #refused = new RecentCache<Refused>({ entries: refusals, weight: refusalCharacters })

  constructor(settings: Settings) {
    this.#settings = settings
    this.#headers = new TokenHeaders(settings.tokenTypes)
    this.#keys = new IssuerKeys(settings.keys)
    this.#remembered = new RecentCache(settings.cache)
  }

  authenticate(credentials: Credentials, demand?: Demand): Caller | Promise<Caller> {
    const token = bearerToken(credentials)
    if (token.length > longestToken) throw invalidToken('too_long')
    const { clock, introspection, expected } = this.#settings
    const now = clock.now()
    if (introspection !== undefined && !looksLikeJwt(token)) {
      const asked = introspection.verify(token, expected, demand?.verifying)
      return asked instanceof Promise
        ? asked.then((told) => this.#admit(told, demand, now))
        : this.#admit(asked, demand, now)
    }
    const keys = this.#keys.current(now)
    if (keys instanceof Promise) return keys.then((set) => this.#check(token, demand, set, now))
    return this.#check(token, demand, keys, now)
  }

  async prefetch(): Promise<boolean> {
    await this.#keys.refresh()
    return this.#keys.generation > 0
  }

  refreshKeys(): Promise<void> {
    return this.#keys.refresh()
  }

  #check(token: string, demand: Demand | undefined, keys: KeySet, now: number): Caller | Promise<Caller> {
    const known = this.#remembered.get(token)
    if (known !== undefined && known.generation === this.#keys.generation && now < known.freshUntil) {
      this.#settings.observer.tokenSeen?.({ known: true })
      return this.#admit(known, demand, now)
    }
    this.#settings.observer.tokenSeen?.({ known: false })
    this.#throwIfRefused(token, now)
    demand?.verifying?.()
    const compact = parseCompact(token, this.#headers)
    const verify = (key: VerificationKey) => {
      const verified = this.#remember(token, now, () => verifyToken(compact, key, this.#settings.expected))
      return this.#admit(verified, demand, now)
    }
    this.#keys.noteRevokedKeys(this.#settings.revocations?.revokedKeys ?? 0, now)
    const key = this.#keys.find(keys, compact.header, now)
    return key instanceof Promise ? key.then(verify) : verify(key)
  }

  /** What can change from one use of a token to the next: the time, revocations, and what the endpoint needs. */
  #admit(token: VerifiedToken, demand: Demand | undefined, now: number): Caller {
    checkTimes(token, now)
    if (this.#settings.revocations?.covers(token.caller, token.keyId)) throw invalidToken('revoked')
    const scope = demand?.scope
    if (scope !== undefined && !hasScope(token.caller, scope)) {
      throw new BearerError('insufficient_scope', 'scope', { requiredScope: scope })
    }
    return token.caller
  }

  #remember(token: string, now: number, verify: () => VerifiedToken): VerifiedToken {
    const generation = this.#keys.generation
    try {
      const verified = verify()
      const freshUntil = now + rememberMs
      this.#remembered.set(token, { ...verified, generation, freshUntil, weight: token.length })
      return verified
    } catch (error) {
      if (error instanceof BearerError)
        this.#refused.set(token, { error, generation, until: now + refusalMs, weight: token.length })
      throw error
    }
  }

  #throwIfRefused(token: string, now: number): void {
    const refused = this.#refused.get(token)
    if (refused === undefined || refused.generation !== this.#keys.generation || now >= refused.until) return
    throw new BearerError(refused.error.code, refused.error.reason)
  }
}
