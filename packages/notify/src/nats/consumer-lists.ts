import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream'

/** Lists the consumers of streams, once for all who ask at a time. */
export class ConsumerLists {
  readonly #manager: JetStreamManager
  /** By stream: the list that was asked for last and is under way, and that which has not begun yet. */
  readonly #current = new Map<string, Promise<readonly ConsumerInfo[]>>()
  readonly #next = new Map<string, Promise<readonly ConsumerInfo[]>>()

  constructor(manager: JetStreamManager) {
    this.#manager = manager
  }

  /** The consumers of a stream, listed after this call; all calls before a list begins share it. */
  list(stream: string): Promise<readonly ConsumerInfo[]> {
    const next = this.#next.get(stream)
    if (next) return next
    const former = this.#current.get(stream) ?? Promise.resolve([])
    const list = former
      .catch(() => {})
      .then(() => {
        this.#next.delete(stream)
        return Array.fromAsync(this.#manager.consumers.list(stream))
      })
    this.#next.set(stream, list)
    this.#current.set(stream, list)
    const forget = () => void (this.#current.get(stream) === list && this.#current.delete(stream))
    list.then(forget, forget)
    return list
  }
}
