import type { Caller } from '../core/caller.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { BearerObserver } from '../core/observer.ts'
import type { RevocationList } from '../options.ts'
import { RevokedTokens } from './revoked-tokens.ts'

/** One page of the revocation feed. */
export interface RevocationPage {
  /**
   * `{grant}`, `{subject, before}`, `{client, before}` or `{key}`; `before` in Unix seconds, compared with `iat`; `key` is
   * the `kid` of a signing key that is compromised.
   */
  readonly revocations: readonly object[]
  /** Where to go on reading. */
  readonly next: string
}

/**
 * Reads the page after a cursor, or the oldest page there is. Undefined: the cursor is not known any more.
 * In one process this is a function of the issuer's; else see `createRevocationsReader`.
 */
export type ReadRevocations = (after: string | undefined) => Promise<RevocationPage | undefined>

/** Calls `tick` again and again, `periodMs` apart, until the returned function is called. */
export type StartInterval = (periodMs: number, tick: () => void) => () => void

export interface RevocationsOptions {
  readonly read: ReadRevocations
  readonly clock?: Clock
  readonly observer?: BearerObserver
  /** How long a revocation matters: the longest access token's life and the clock skew. Default 3660. Keys: for ever. */
  readonly keepForSeconds?: number
}

/** What was revoked, as far as the feed has told. */
export interface Revocations extends RevocationList {
  /** Reads the feed to its end. Never rejects: a feed that cannot be read is an alarm, and requests go on. */
  poll(): Promise<void>
  /** Polls every second, from now on. Returns what stops it. */
  start(every?: StartInterval): () => void
}

/** What is revoked bites within two seconds: a period, and the time that a reading takes. */
const periodMs = 1_000
const defaultKeepForSeconds = 3_660
const maxPagesPerPoll = 1_000

const timer: StartInterval = (ms, tick) => {
  const interval = setInterval(tick, ms)
  interval.unref()
  return () => clearInterval(interval)
}

/** A list of revocations that follows an issuer's feed; hand it to `createBearer` as `revocations`. */
export function createRevocations(options: RevocationsOptions): Revocations {
  return new RevocationFeed(options)
}

class RevocationFeed implements Revocations {
  readonly #read: ReadRevocations
  readonly #clock: Clock
  readonly #observer: BearerObserver
  readonly #revoked: RevokedTokens
  #after: string | undefined
  #polling: Promise<void> | undefined
  #readAt: number

  constructor(options: RevocationsOptions) {
    this.#read = options.read
    this.#clock = options.clock ?? systemClock
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
      unknown += this.#revoked.add(page.revocations, this.#clock.now())
      count += page.revocations.length
      this.#after = page.next
      if (page.revocations.length === 0 || page.next === before) break
    }
    if (unknown > 0) throw new Error(`${unknown} revocations in the feed were not understood`)
    return count
  }
}
