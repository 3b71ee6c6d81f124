import type { Clock } from '@gatehouse/kit'

const rememberedMs = 3_600_000
const maxRemembered = 10_000

/**
 * Remembers which clients authenticated from which addresses recently, in this process: guesses of others at the same
 * address are no reason to block them.
 */
export class RecentAuthentications {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(clientId: string, address: string): void {
    const key = keyOf(clientId, address)
    this.#until.delete(key)
    this.#until.set(key, this.#clock.now() + rememberedMs)
    const [oldest] = this.#until.keys()
    if (this.#until.size > maxRemembered && oldest !== undefined) this.#until.delete(oldest)
  }

  has(clientId: string, address: string): boolean {
    const remainingMs = (this.#until.get(keyOf(clientId, address)) ?? 0) - this.#clock.now()
    // More than that is left only when the clock was set back.
    return remainingMs > 0 && remainingMs <= rememberedMs
  }
}

const keyOf = (clientId: string, address: string): string => `${address} ${clientId}`
