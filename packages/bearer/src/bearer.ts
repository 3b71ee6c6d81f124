import { type AuthenticationRequirement, checkSignIn, type SignIn } from './core/authentication-requirement.ts'
import { BearerError, invalidToken } from './core/bearer-error.ts'
import { type Caller, hasScope } from './core/caller.ts'
import { RecentCache, type Weighted } from './core/recent-cache.ts'
import { bearerToken, type Credentials } from './http/authorization.ts'
import { IssuerKeys } from './keys/issuer-keys.ts'
import type { KeySet, VerificationKey } from './keys/key-set.ts'
import { type BearerOptions, type Settings, settingsOf } from './options.ts'
import { checkTimes } from './token/claims.ts'
import { looksLikeJwt, parseCompact } from './token/compact.ts'
import { TokenHeaders } from './token/token-header.ts'
import { type VerifiedToken, verifyToken } from './token/verify.ts'

/** What one endpoint requires beyond a valid token. */
export interface AuthenticateOptions extends AuthenticationRequirement {
  /** Required scope: space-separated names, all of which the token must have (RFC 6749 §3.3). */
  readonly scope?: string
  /**
   * Called before the signature of an uncached token is verified, or the issuer is asked about it, which are the
   * expensive steps. What it throws rejects the token. Use it to limit clients that send forged tokens.
   */
  readonly beforeVerify?: () => void
}

/** Verifies the bearer tokens of one resource server. Made by {@link createBearer}. */
export interface Bearer {
  /**
   * Verifies the access token of a request and returns its caller. Returns at once when the token is cached or the
   * issuer's keys are at hand, else a promise; `await` takes both.
   *
   * @param credentials the Authorization header, all its values, or the headers that contain it (RFC 6750 §2.1)
   * @throws BearerError at once or as a rejection, and nothing else but what `beforeVerify` throws, and a TypeError for
   * an invalid `requireAcr` or `maxAge`
   * @example
   * ```ts
   * const caller = await bearer.authenticate(request.headersDistinct, { scope: 'read:users' })
   * console.log(caller.subject)
   * ```
   */
  authenticate(credentials: Credentials, options?: AuthenticateOptions): Caller | Promise<Caller>
  /**
   * Checks the sign-in behind a caller that `authenticate` returned, where the requirement is known only afterwards. Call
   * it at each request: a sign-in grows old while its token stays valid.
   *
   * @throws BearerError `insufficient_user_authentication` (RFC 9470 §3)
   * @throws TypeError naming the invalid member of the requirement and what was expected
   * @example
   * ```ts
   * bearer.requireSignIn(caller, { requireAcr: 'urn:gatehouse:acr:mfa', maxAge: 300 })
   * ```
   */
  requireSignIn(caller: SignIn, requirement: AuthenticationRequirement): void
  /** Fetches the issuer's keys, so that the first request need not wait. Resolves to whether there are usable keys. */
  prefetch(): Promise<boolean>
  /** Fetches the issuer's keys again, whatever their age, after an urgent rotation or withdrawal. Never rejects. */
  refreshKeys(): Promise<void>
}

/** Longer tokens are rejected unread, in characters. */
const maxTokenLength = 8192
/** Cached tokens are verified again after this time, in milliseconds. */
const cacheMs = 60_000
const refusalCacheMs = 10_000
const maxRefusals = 1_000
/** How many characters of rejected tokens are cached. */
const maxRefusalCharacters = 1024 * 1024

/** One flat object: the time of a cache hit is memory access. */
interface CachedToken extends VerifiedToken, Weighted {
  readonly generation: number
  readonly freshUntil: number
}

interface CachedRefusal extends Weighted {
  readonly error: BearerError
  readonly generation: number
  readonly until: number
}

/**
 * Creates a verifier of the access tokens of one issuer for one audience (RFC 6750, RFC 9068).
 *
 * @throws TypeError naming the invalid option and what was expected
 * @example
 * ```ts
 * import { createBearer } from '@gatehouse/bearer'
 *
 * const bearer = createBearer({ issuer: 'https://auth.example.com', audience: 'https://api.example.com' })
 * const caller = await bearer.authenticate(request.headersDistinct, { scope: 'read:users' })
 * ```
 */
export function createBearer(options: BearerOptions): Bearer {
  return new TokenVerifier(settingsOf(options))
}

class TokenVerifier implements Bearer {
  readonly #settings: Settings
  readonly #keys: IssuerKeys
  readonly #headers: TokenHeaders
  /** Keyed by the whole token: the runtime hashes and compares all of it, several times faster than SHA-256. */
  readonly #verifiedTokens: RecentCache<CachedToken>
  readonly #refusals = new RecentCache<CachedRefusal>({ entries: maxRefusals, weight: maxRefusalCharacters })

  constructor(settings: Settings) {
    this.#settings = settings
    this.#headers = new TokenHeaders(settings.tokenTypes)
    this.#keys = new IssuerKeys(settings.keys)
    this.#verifiedTokens = new RecentCache(settings.cache)
  }

  authenticate(credentials: Credentials, options?: AuthenticateOptions): Caller | Promise<Caller> {
    const token = bearerToken(credentials)
    if (token.length > maxTokenLength) throw invalidToken('too_long')
    const { clock, introspection, expected } = this.#settings
    const now = clock.now()
    if (introspection !== undefined && !looksLikeJwt(token)) {
      const verified = introspection.verify(token, expected, options?.beforeVerify)
      return verified instanceof Promise
        ? verified.then((token) => this.#admit(token, options, now))
        : this.#admit(verified, options, now)
    }
    const keys = this.#keys.current(now)
    if (keys instanceof Promise) return keys.then((set) => this.#check(token, options, set, now))
    return this.#check(token, options, keys, now)
  }

  requireSignIn(caller: SignIn, requirement: AuthenticationRequirement): void {
    checkSignIn(caller, requirement, this.#settings.signIns, this.#settings.clock.now())
  }

  async prefetch(): Promise<boolean> {
    await this.#keys.refresh()
    return this.#keys.generation > 0
  }

  refreshKeys(): Promise<void> {
    return this.#keys.refresh()
  }

  #check(token: string, options: AuthenticateOptions | undefined, keys: KeySet, now: number): Caller | Promise<Caller> {
    const known = this.#verifiedTokens.get(token)
    if (known !== undefined && known.generation === this.#keys.generation && now < known.freshUntil) {
      this.#settings.observer.tokenChecked?.({ cached: true })
      return this.#admit(known, options, now)
    }
    this.#settings.observer.tokenChecked?.({ cached: false })
    this.#throwIfRefused(token, now)
    options?.beforeVerify?.()
    const compact = parseCompact(token, this.#headers)
    const verify = (key: VerificationKey) => {
      const verified = this.#verifyAndCache(token, now, () => verifyToken(compact, key, this.#settings.expected))
      return this.#admit(verified, options, now)
    }
    this.#keys.setRevokedKeys(this.#settings.revocations?.revokedKeys ?? 0, now)
    const key = this.#keys.find(keys, compact.header, now)
    return key instanceof Promise ? key.then(verify) : verify(key)
  }

  /** Checks what can change between two uses of a token: the time, revocations, and what the endpoint requires. */
  #admit(token: VerifiedToken, options: AuthenticateOptions | undefined, now: number): Caller {
    checkTimes(token, now)
    if (this.#settings.revocations?.covers(token.caller, token.keyId)) throw invalidToken('revoked')
    const scope = options?.scope
    if (scope !== undefined && !hasScope(token.caller, scope)) {
      throw new BearerError('insufficient_scope', 'scope', { requiredScope: scope })
    }
    if (options !== undefined) checkSignIn(token.caller, options, this.#settings.signIns, now)
    return token.caller
  }

  #verifyAndCache(token: string, now: number, verify: () => VerifiedToken): VerifiedToken {
    const generation = this.#keys.generation
    try {
      const verified = verify()
      const freshUntil = now + cacheMs
      this.#verifiedTokens.set(token, { ...verified, generation, freshUntil, weight: token.length })
      return verified
    } catch (error) {
      if (error instanceof BearerError)
        this.#refusals.set(token, { error, generation, until: now + refusalCacheMs, weight: token.length })
      throw error
    }
  }

  #throwIfRefused(token: string, now: number): void {
    const refused = this.#refusals.get(token)
    if (refused === undefined || refused.generation !== this.#keys.generation || now >= refused.until) return
    throw new BearerError(refused.error.code, refused.error.reason)
  }
}
