import type { Clock } from '@gatehouse/kit'
import type { Client } from '../model/client.ts'
import type { Clients } from '../store/index.ts'

/** How long a client is cached, in milliseconds: a change in another process is seen that much later. */
export const clientCacheMs = 2_000
const maxEntries = 10_000

interface Entry {
  readonly client: Promise<Client | undefined>
  readonly until: number
}

/** Caches clients by id for a moment: every token request reads one, and concurrent requests share a read. */
export class ClientCache {
  readonly #clients: Pick<Clients, 'find'>
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(clients: Pick<Clients, 'find'>, clock: Clock) {
    this.#clients = clients
    this.#clock = clock
  }

  find(id: string): Promise<Client | undefined> {
    const now = this.#clock.now()
    const known = this.#entries.get(id)
    // A clock that was set back must not prolong what is cached.
    if (known !== undefined && known.until > now && known.until - now <= clientCacheMs) return known.client
    if (this.#entries.size >= maxEntries) this.#entries.clear()
    const entry: Entry = { client: this.#clients.find(id), until: now + clientCacheMs }
    this.#entries.set(id, entry)
    entry.client.then(
      (client) => client ?? this.#drop(id, entry),
      () => this.#drop(id, entry),
    )
    return entry.client
  }

  /** After a change in this process. */
  forget(id: string): void {
    this.#entries.delete(id)
  }

  #drop(id: string, entry: Entry): void {
    if (this.#entries.get(id) === entry) this.#entries.delete(id)
  }
}
