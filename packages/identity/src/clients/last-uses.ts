import type { Clock } from '@gatehouse/kit'
import type { LastUse, LastUseStore } from '../store/index.ts'

/** What is used: a client that authenticates, or an API key. */
export type UsedKind = LastUse['kind']

const maxPending = 10_000

/**
 * Remembers when clients and API keys were used until the next {@link LastUses.write}, so that no request waits for it.
 * Uses since the last write are lost when the process ends without one. Of more than 10,000 in between, the oldest are.
 */
export class LastUses {
  readonly #clock: Clock
  #pending = new Map<string, LastUse>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(kind: UsedKind, id: string): void {
    this.#keep({ kind, id, at: this.#clock.now() })
  }

  /** Writes what was used since the last write. What cannot be written is kept for the next one. */
  async write(store: LastUseStore): Promise<void> {
    const uses = [...this.#pending.values()]
    if (uses.length === 0) return
    this.#pending = new Map()
    try {
      await store.record(uses)
    } catch (error) {
      const later = [...this.#pending.values()]
      this.#pending = new Map()
      for (const use of [...uses, ...later]) this.#keep(use)
      throw error
    }
  }

  #keep(use: LastUse): void {
    const key = `${use.kind} ${use.id}`
    this.#pending.delete(key)
    this.#pending.set(key, use)
    const [oldest] = this.#pending.keys()
    if (this.#pending.size > maxPending && oldest !== undefined) this.#pending.delete(oldest)
  }
}
