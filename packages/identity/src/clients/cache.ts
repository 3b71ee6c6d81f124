import type { Clock } from '@gatehouse/kit'
import type { Client } from '../model/client.ts'
import type { Clients } from '../store/index.ts'

/** How long a client is remembered, in milliseconds: so long another process's change may go unseen. */
export const clientMemoryMs = 2_000
const mostRemembered = 10_000

interface Remembered {
  readonly client: Promise<Client | undefined>
  readonly until: number
}

/** Clients by id, remembered for a moment: every token request asks for one, and many at once ask together. */
export class ClientDirectory {
  readonly #clients: Pick<Clients, 'find'>
  readonly #clock: Clock
  readonly #remembered = new Map<string, Remembered>()

  constructor(clients: Pick<Clients, 'find'>, clock: Clock) {
    this.#clients = clients
    this.#clock = clock
  }

  find(id: string): Promise<Client | undefined> {
    const now = this.#clock.now()
    const known = this.#remembered.get(id)
    if (known !== undefined && known.until > now) return known.client
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear()
    const asked: Remembered = { client: this.#clients.find(id), until: now + clientMemoryMs }
    this.#remembered.set(id, asked)
    asked.client.then(
      (client) => client ?? this.#drop(id, asked),
      () => this.#drop(id, asked),
    )
    return asked.client
  }

  /** After a change in this process. */
  forget(id: string): void {
    this.#remembered.delete(id)
  }

  #drop(id: string, asked: Remembered): void {
    if (this.#remembered.get(id) === asked) this.#remembered.delete(id)
  }
}
