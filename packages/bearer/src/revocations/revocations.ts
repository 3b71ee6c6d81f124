import type { Caller } from '../core/caller.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { BearerObserver } from '../core/observer.ts'
import type { RevocationList } from '../options.ts'
import { RevokedTokens } from './revoked-tokens.ts'

/** One page of the revocation feed. */
export interface RevocationPage {
  /**
   * Entries `{grant}`, `{subject, before}`, `{client, before}` or `{key}`. `before` is in Unix seconds and compared with
   * `iat`; `key` is the `kid` of a compromised signing key.
   */
  readonly revocations: readonly object[]
  /** The cursor of the next page. */
  readonly next: string
}

/**
 * Reads the page after a cursor, or the oldest page there is. Undefined: the cursor is not known any more.
 * In one process it is a function of the issuer; over HTTP see {@link createRevocationsReader}.
 */
export type ReadRevocations = (after: string | undefined) => Promise<RevocationPage | undefined>

/** Calls `tick` every `periodMs` milliseconds until the returned function is called. */
export type StartInterval = (periodMs: number, tick: () => void) => () => void

/** Options of {@link createRevocations}. */
export interface RevocationsOptions {
  /** Reads the feed. */
  readonly read: ReadRevocations
  /** Default: the system clock. */
  readonly clock?: Clock
  /**
   * A clock that nobody sets, in milliseconds since any moment: a revocation is not dropped before it has been kept for
   * its time by this clock too. Default: `performance.now()`.
   */
  readonly steadyClock?: Clock
  /** Reports whether the feed can be read. */
  readonly observer?: BearerObserver
  /**
   * How long a revocation is kept, in seconds: the longest lifetime of an access token plus clock skew. Revoked keys are
   * kept for ever. Default: 3660.
   */
  readonly keepForSeconds?: number
}

/** The revocations read from a feed. Made by {@link createRevocations}. */
export interface Revocations extends RevocationList {
  /** Reads the feed to its end. Never rejects: a failure is reported to the observer, and requests are still accepted. */
  poll(): Promise<void>
  /** Polls every second from now on. Returns a function that stops polling. */
  start(every?: StartInterval): () => void
}

/** A revocation is effective within two seconds: one period, and the time of one read. */
const periodMs = 1_000
const defaultKeepForSeconds = 3_660
const maxPagesPerPoll = 1_000

const defaultSteadyClock: Clock = { now: () => performance.now() }

const timer: StartInterval = (ms, tick) => {
  const interval = setInterval(tick, ms)
  interval.unref()
  return () => clearInterval(interval)
}

/**
 * Creates a list of revocations that follows an issuer's feed, to be passed to `createBearer` as `revocations`.
 *
 * @example
 * ```ts
 * const url = 'https://auth.example.com/revocations'
 * const revocations = createRevocations({ read: createRevocationsReader({ url, token }) })
 * const stop = revocations.start()
 * const bearer = createBearer({ issuer, audience, revocations })
 * ```
 */
export function createRevocations(options: RevocationsOptions): Revocations {
  return new RevocationFeed(options)
}

class RevocationFeed implements Revocations {
  readonly #read: ReadRevocations
  readonly #clock: Clock
  readonly #steadyClock: Clock
  readonly #observer: BearerObserver
  readonly #revoked: RevokedTokens
  #after: string | undefined
  #polling: Promise<void> | undefined
  #readAt: number

  constructor(options: RevocationsOptions) {
    this.#read = options.read
    this.#clock = options.clock ?? systemClock
    this.#steadyClock = options.steadyClock ?? defaultSteadyClock
    this.#observer = options.observer ?? {}
    this.#revoked = new RevokedTokens((options.keepForSeconds ?? defaultKeepForSeconds) * 1000)
    this.#readAt = this.#clock.now()
  }

  get revokedKeys(): number {
    return this.#revoked.keys
  }

  covers(caller: Caller, keyId?: string): boolean {
    return this.#revoked.covers(caller, keyId)
  }

  poll(): Promise<void> {
    this.#polling ??= this.#pollOnce().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  start(every: StartInterval = timer): () => void {
    void this.poll()
    return every(periodMs, () => void this.poll())
  }

  async #pollOnce(): Promise<void> {
    try {
      const count = await this.#readToTheEnd()
      this.#readAt = this.#clock.now()
      this.#observer.revocationsRead?.({ count })
    } catch (cause) {
      this.#observer.revocationsFailed?.({ cause, staleMs: this.#clock.now() - this.#readAt })
    }
  }

  async #readToTheEnd(): Promise<number> {
    let count = 0
    let unknown = 0
    for (let pages = 0; pages < maxPagesPerPoll; pages++) {
      const before = this.#after
      const page = await this.#read(before)
      if (page === undefined) {
        if (before === undefined) throw new Error('the revocation feed cannot be read from its beginning')
        this.#after = undefined
        continue
      }
      unknown += this.#revoked.add(page.revocations, { now: this.#clock.now(), steady: this.#steadyClock.now() })
      count += page.revocations.length
      this.#after = page.next
      if (page.revocations.length === 0 || page.next === before) break
    }
    if (unknown > 0) throw new Error(`${unknown} entries of the revocation feed are unknown`)
    return count
  }
}
