import type { Clock } from '@gatehouse/kit'
import type { Client } from './client.ts'
import type { Clients } from './store.ts'

/** How long a client is remembered, in milliseconds: so long another process's change may go unseen. */
const clientMemoryMs = 2_000
const mostRemembered = 10_000

/** Clients by id, remembered for a moment: every token request asks for one. */
export class ClientDirectory {
  readonly #clients: Clients
  readonly #clock: Clock
  readonly #remembered = new Map<string, { readonly client: Client; readonly until: number }>()

  constructor(clients: Clients, clock: Clock) {
    this.#clients = clients
    this.#clock = clock
  }

  async find(id: string): Promise<Client | undefined> {
    const now = this.#clock.now()
    const known = this.#remembered.get(id)
    if (known !== undefined && known.until > now) return known.client
    const client = await this.#clients.find(id)
    this.#remembered.delete(id)
    if (client === undefined) return undefined
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear()
    this.#remembered.set(id, { client, until: now + clientMemoryMs })
    return client
  }

  /** After a change in this process. */
  forget(id: string): void {
    this.#remembered.delete(id)
  }
}
