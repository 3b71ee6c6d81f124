import type { Clock, Log } from '@gatehouse/kit'
import { type Connection, connectionName, isEnabled, maySignIn } from '../model/connection.ts'
import type { Connections } from '../store/index.ts'

/** How old the list may be, in milliseconds: a change in another process is seen that much later. */
const listedMs = 5_000

/** A connection as pages offer it. */
export interface OfferedConnection {
  readonly id: string
  readonly name: string
}

/**
 * The connections that pages offer, in memory: a page neither waits for the store nor for a provider. Whether a
 * connection may be used is read from the store when it is used.
 */
export class ConnectionList {
  readonly #connections: Pick<Connections, 'list'>
  readonly #clock: Clock
  readonly #log: Log
  #enabled: readonly Connection[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> = Promise.resolve()

  constructor(connections: Pick<Connections, 'list'>, clock: Clock, log: Log) {
    this.#connections = connections
    this.#clock = clock
    this.#log = log
  }

  /** Those that the sign-in page offers. */
  listForSignIn(): readonly OfferedConnection[] {
    return this.#current()
      .filter((one) => maySignIn(one) && one.settings.hidden !== true)
      .map(offer)
  }

  /** Those that a user may connect to an account. */
  listForLinking(): readonly OfferedConnection[] {
    return this.#current()
      .filter((one) => one.settings.hidden !== true)
      .map(offer)
  }

  /** Whether some users sign in with the connection of their email domain. */
  hasHomes(): boolean {
    return this.#current().some(
      (one) => maySignIn(one) && (one.settings.organization ?? one.settings.domains) !== undefined,
    )
  }

  /**
   * Whether a connection is the only way to sign in for some users. It decides who gets in, so that it waits for a list
   * that is too old to be read anew. @throws what the store throws
   */
  async hasRequired(): Promise<boolean> {
    if (this.#isOld()) await this.refresh()
    else await this.#reading
    return this.#enabled.some((one) => maySignIn(one) && one.settings.required === true)
  }

  /** The connection whose settings name an email domain. */
  findByDomain(domain: string): Connection | undefined {
    return this.#current().find((one) => maySignIn(one) && one.settings.domains?.includes(domain))
  }

  /** The connection of an organization. */
  findByOrganization(organizationId: string): Connection | undefined {
    return this.#current().find((one) => maySignIn(one) && one.settings.organization === organizationId)
  }

  /** Reads the list; after the start, and after a change in this process. Waits for a read that began before. */
  refresh(): Promise<void> {
    this.#readAt = this.#clock.now()
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read())
    return this.#reading
  }

  async #read(): Promise<void> {
    try {
      this.#enabled = (await this.#connections.list()).filter(isEnabled)
    } catch (error) {
      this.#readAt = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  #isOld(): boolean {
    const age = this.#clock.now() - this.#readAt
    // Negative once the clock was set back.
    return age < 0 || age >= listedMs
  }

  #current(): readonly Connection[] {
    if (this.#isOld()) {
      void this.refresh().catch((error) => this.#log.warn({ err: error }, 'the connections could not be read'))
    }
    return this.#enabled
  }
}

function offer(connection: Connection): OfferedConnection {
  return { id: connection.id, name: connectionName(connection) }
}
