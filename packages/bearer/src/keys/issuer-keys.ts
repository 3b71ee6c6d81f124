import { BearerError, invalidToken } from '../core/bearer-error.ts'
import { type Clock, isAhead } from '../core/clock.ts'
import type { BearerObserver } from '../core/observer.ts'
import { RecentCache, type Weighted } from '../core/recent-cache.ts'
import type { TokenHeader } from '../token/token-header.ts'
import type { AlgorithmName } from './algorithms.ts'
import { importKeySet, type KeySet, type VerificationKey } from './key-set.ts'
import type { KeySource } from './key-source.ts'
import { TokenBucket } from './token-bucket.ts'

/** Options of {@link IssuerKeys}. */
export interface IssuerKeysOptions {
  readonly source: KeySource
  readonly algorithms: readonly AlgorithmName[]
  readonly clock: Clock
  readonly observer: BearerObserver
  /** How long keys stay in use while the issuer cannot be reached. */
  readonly staleForMs: number
}

interface UnknownKid extends Weighted {
  readonly until: number
}

/** Keys are refreshed in the background at this fraction of their maximum age. */
const refreshFraction = 0.75
const firstBackoffMs = 1_000
const maxBackoffMs = 60_000
const maxUnknownKids = 256
/** For this time after a revocation of a key, tokens of its successor are expected, and it is fetched this often. */
const renewalMs = 60_000
const renewalIntervalMs = 1_000

/**
 * The issuer's keys. They are refreshed in the background before they expire and kept while the issuer is down. There is
 * one fetch at a time, and attempts are rate limited, not only successes, so that a flood of tokens causes no flood of
 * fetches. A set is only replaced by one with a usable key.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  readonly #bucket: TokenBucket
  readonly #renewalBucket = new TokenBucket(1, renewalIntervalMs)
  readonly #unknown = new RecentCache<UnknownKid>({ entries: maxUnknownKids, weight: maxUnknownKids })
  #set: KeySet | undefined
  /** Of the set: that of one that was not accepted would be answered with 304, as if it had been. */
  #etag: string | undefined
  #generation = 0
  #loadedAt = 0
  #refreshAt = 0
  #expiresAt = 0
  #failures = 0
  #backoffMs = 0
  #nextAttemptAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  #revokedKeys = 0
  #renewalUntil = Number.NEGATIVE_INFINITY

  constructor(options: IssuerKeysOptions) {
    this.#options = options
    this.#bucket = new TokenBucket(1, options.source.unknownKidIntervalMs)
  }

  /** Increments when the keys change. What was verified with another generation must be verified again. */
  get generation(): number {
    return this.#generation
  }

  /**
   * The current keys: at once while there are usable ones, as a promise when they must be fetched first.
   *
   * @throws BearerError `unavailable`, at once or as a rejection
   */
  current(now: number): KeySet | Promise<KeySet> {
    if (this.#set !== undefined && this.#loadedAt <= now && now < this.#refreshAt) return this.#set
    return this.#currentOrRefresh(now)
  }

  /**
   * The key of a token's header. An unknown `kid` may be a rotation, so the keys are fetched again, within limits.
   *
   * @throws BearerError `invalid_token`, at once or as a rejection
   */
  find(set: KeySet, header: TokenHeader, now: number): VerificationKey | Promise<VerificationKey> {
    const { kid, alg } = header
    const key = set.find(kid, alg)
    if (key !== undefined) return key
    const allowed: readonly string[] = this.#options.algorithms
    if (!allowed.includes(alg)) throw invalidToken('algorithm')
    if (kid === undefined) throw invalidToken('unknown_key')
    if (set.has(kid)) throw invalidToken('algorithm')
    return this.#findAfterReading(kid, alg, now)
  }

  /**
   * Sets how many keys the issuer has revoked. When one is added, its successor already signs, so unknown keys are
   * fetched again, at most once a second.
   */
  setRevokedKeys(count: number, now: number): void {
    if (count === this.#revokedKeys) return
    this.#revokedKeys = count
    this.#renewalUntil = now + renewalMs
    this.#unknown.clear()
  }

  /** Fetches the keys now, whatever their age. Never rejects. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read(this.#options.clock.now()).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  #currentOrRefresh(now: number): KeySet | Promise<KeySet> {
    const usable = this.#usable(now)
    const mayRead = this.#reading !== undefined || !this.#isBackingOff(now)
    if (usable === undefined) {
      if (!mayRead) throw this.#unavailable(now)
      return this.refresh().then(() => this.#usableOrThrow())
    }
    if (!mayRead) return usable
    const reading = this.refresh()
    // Keys that expired unused may have been withdrawn, so wait for the fetch once; not while the issuer is down.
    return now >= this.#expiresAt && this.#failures === 0 ? reading.then(() => this.#usableOrThrow()) : usable
  }

  #findAfterReading(kid: string, alg: string, now: number): Promise<VerificationKey> {
    const unknown = this.#unknown.get(kid)
    if (unknown !== undefined && isAhead(unknown.until, this.#options.source.unknownKidMs, now))
      throw invalidToken('unknown_key')
    const backingOff = this.#failures > 0 && this.#isBackingOff(now)
    const renewing = isAhead(this.#renewalUntil, renewalMs, now)
    const bucket = renewing ? this.#renewalBucket : this.#bucket
    if (this.#reading === undefined && (backingOff || !bucket.tryConsume(now))) throw invalidToken('unknown_key')
    const unknownMs = renewing ? renewalIntervalMs : this.#options.source.unknownKidMs
    return this.refresh().then(() => {
      const key = this.#set?.find(kid, alg)
      if (key !== undefined) return key
      if (this.#set?.has(kid)) throw invalidToken('algorithm')
      if (this.#failures === 0) this.#unknown.set(kid, { until: now + unknownMs, weight: 1 })
      throw invalidToken('unknown_key')
    })
  }

  async #read(now: number): Promise<void> {
    const { source, observer } = this.#options
    this.#backoffMs = Math.min(firstBackoffMs * 2 ** this.#failures, maxBackoffMs)
    this.#nextAttemptAt = now + this.#backoffMs
    // The clock was set back: how old the keys are is not known any more, so their age counts from here.
    if (now < this.#loadedAt) this.#loadedAt = this.#refreshAt = now
    try {
      const { keys, etag, maxAgeMs } = await source.read(this.#etag)
      const changed = keys === undefined ? false : this.#replace(keys)
      if (keys !== undefined) this.#etag = etag
      this.#failures = 0
      this.#loadedAt = now
      this.#refreshAt = now + maxAgeMs * refreshFraction
      this.#expiresAt = now + maxAgeMs
      observer.keysLoaded?.({ changed })
    } catch (cause) {
      this.#failures += 1
      observer.keysFailed?.({ cause, staleMs: this.#set === undefined ? undefined : now - this.#loadedAt })
    }
  }

  #replace(keys: readonly unknown[]): boolean {
    const set = importKeySet(keys, this.#options.algorithms)
    if (set.fingerprint === this.#set?.fingerprint) return false
    this.#set = set
    this.#generation += 1
    return true
  }

  #isBackingOff(now: number): boolean {
    return isAhead(this.#nextAttemptAt, this.#backoffMs, now)
  }

  #usable(now: number): KeySet | undefined {
    return now < this.#loadedAt + this.#options.staleForMs ? this.#set : undefined
  }

  #usableOrThrow(): KeySet {
    const now = this.#options.clock.now()
    const set = this.#usable(now)
    if (set === undefined) throw this.#unavailable(now)
    return set
  }

  #unavailable(now: number): BearerError {
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#nextAttemptAt - now) / 1000))
    return new BearerError('unavailable', 'keys', { retryAfterSeconds })
  }
}
