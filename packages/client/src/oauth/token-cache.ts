import { retryAfterOf } from '../errors/api-error.ts'
import type { Platform } from '../platform/platform.ts'
import { within } from '../platform/waiting.ts'

/** A token and the Unix milliseconds at which it expires. */
export interface ExpiringToken {
  readonly accessToken: string
  readonly expiresAt: number
}

const renewBeforeMs = 60_000
const jitterMs = 15_000
/** A token with less left may expire on its way. */
export const inFlightMs = 5_000
/** What serves once should be stored before the process may end. */
const storedWaitMs = 1_000
const pauseMs = 1_000
/** The longest that a Retry-After of the token endpoint is heeded. */
const maxPauseMs = 60_000

/** When a token is renewed: a minute before it expires and up to 15 s earlier, at half its life if that is less. */
function renewalOf(expiresAt: number, now: number, random: () => number): number {
  return expiresAt - Math.min(renewBeforeMs + jitterMs * random(), (expiresAt - now) / 2)
}

/** How the last attempt failed, and the Unix milliseconds then. */
interface Failure {
  readonly error: unknown
  readonly at: number
}

/**
 * Keeps a token until it expires. From when it is due for renewal, a new one is obtained while calls go on with the old
 * one; only in its last seconds they wait, and use it all the same if that fails. However many callers need a new one,
 * it is obtained once; after a failure there is a pause of a second, or what Retry-After says, up to a minute.
 *
 * Without a valid token there is a pause only by Retry-After, and none with `isStored`: a store may have another token by
 * then. With it calls wait for a renewal, up to a second.
 */
export class TokenCache {
  readonly #obtain: (platform: Platform) => Promise<ExpiringToken>
  readonly #isStored: boolean
  #token: (ExpiringToken & { readonly renewAt: number }) | undefined
  #pending: Promise<ExpiringToken> | undefined
  #failure: Failure | undefined

  constructor(obtain: (platform: Platform) => Promise<ExpiringToken>, { isStored = false } = {}) {
    this.#obtain = obtain
    this.#isStored = isStored
  }

  /** A token that is still valid. */
  async current(platform: Platform): Promise<string> {
    const { clock } = platform
    const token = this.#token
    const now = clock.now()
    if (token !== undefined && now < Math.max(token.renewAt, token.expiresAt - inFlightMs)) {
      if (now < token.renewAt) return token.accessToken
      const renewal = this.#obtainOnce(platform).catch(() => {})
      if (this.#isStored) await within(clock, storedWaitMs, renewal)
      // Dropped meanwhile: it was refused, or its user signed out.
      if (this.#token !== undefined) return this.#token.accessToken
    }
    try {
      return (await this.#obtainOnce(platform)).accessToken
    } catch (error) {
      if (token !== undefined && token === this.#token && clock.now() < token.expiresAt) return token.accessToken
      throw error
    }
  }

  /** Drops a token that was refused; another one that was obtained meanwhile stays. The next one is obtained at once. */
  discard(accessToken: string): void {
    if (this.#token?.accessToken !== accessToken) return
    this.#token = undefined
    this.#failure = undefined
  }

  /**
   * Goes on with the token that a store holds now, or with none. Where it is another one than before it is used while it
   * is valid; where there was none, if it has more than a minute left.
   */
  follow(stored: ExpiringToken | undefined, platform: Platform): void {
    const before = this.#token
    if (stored?.accessToken === before?.accessToken) return
    const minMs = before === undefined ? renewBeforeMs : inFlightMs
    this.#token = undefined
    this.#failure = undefined
    if (stored !== undefined && platform.clock.now() < stored.expiresAt - minMs) this.#keep(stored, platform)
  }

  #keep(token: ExpiringToken, { clock, random }: Platform): void {
    this.#token = { ...token, renewAt: renewalOf(token.expiresAt, clock.now(), random) }
  }

  #obtainOnce(platform: Platform): Promise<ExpiringToken> {
    if (this.#pending !== undefined) return this.#pending
    const { clock } = platform
    if (this.#failure !== undefined && this.#isPausing(this.#failure, clock.now()))
      return Promise.reject(this.#failure.error)
    this.#pending = this.#obtain(platform)
      .then((token) => {
        this.#keep(token, platform)
        this.#failure = undefined
        return token
      })
      .catch((error) => {
        this.#failure = { error, at: clock.now() }
        throw error
      })
      .finally(() => {
        this.#pending = undefined
      })
    return this.#pending
  }

  #isPausing({ error, at }: Failure, now: number): boolean {
    const hasValid = this.#token !== undefined && now < this.#token.expiresAt
    if (!hasValid && this.#isStored) return false
    const waitMs = Math.max(retryAfterOf(error), hasValid ? pauseMs : 0)
    // A clock that was set back ends the pause.
    return at <= now && now < at + Math.min(waitMs, maxPauseMs)
  }
}
