import type { Platform } from '../platform/platform.ts'

/** A token and the Unix milliseconds at which it expires. */
export interface ExpiringToken {
  readonly accessToken: string
  readonly expiresAt: number
}

const renewBeforeMs = 60_000
const jitterMs = 15_000

/** When a token is renewed: a minute before it expires and up to 15 s earlier, at half its life if that is less. */
function renewalOf(expiresAt: number, now: number, random: () => number): number {
  return expiresAt - Math.min(renewBeforeMs + jitterMs * random(), (expiresAt - now) / 2)
}

/**
 * Keeps a token until it is due for renewal. However many callers need a new one, it is obtained once. If that fails
 * while the old one is still valid, the old one is used.
 */
export class TokenCache {
  readonly #obtain: (platform: Platform) => Promise<ExpiringToken>
  #token: (ExpiringToken & { readonly renewAt: number }) | undefined
  #pending: Promise<ExpiringToken> | undefined

  constructor(obtain: (platform: Platform) => Promise<ExpiringToken>) {
    this.#obtain = obtain
  }

  /** A token that is still valid. */
  async current(platform: Platform): Promise<string> {
    const { clock } = platform
    const token = this.#token
    if (token !== undefined && clock.now() < token.renewAt) return token.accessToken
    try {
      return (await this.#obtainOnce(platform)).accessToken
    } catch (error) {
      if (token !== undefined && token === this.#token && clock.now() < token.expiresAt) return token.accessToken
      throw error
    }
  }

  /** Drops a token that was refused; another one that was obtained meanwhile stays. */
  discard(accessToken: string): void {
    if (this.#token?.accessToken === accessToken) this.#token = undefined
  }

  #obtainOnce(platform: Platform): Promise<ExpiringToken> {
    this.#pending ??= this.#obtain(platform)
      .then((token) => {
        const renewAt = renewalOf(token.expiresAt, platform.clock.now(), platform.random)
        this.#token = { ...token, renewAt }
        return token
      })
      .finally(() => {
        this.#pending = undefined
      })
    return this.#pending
  }
}
