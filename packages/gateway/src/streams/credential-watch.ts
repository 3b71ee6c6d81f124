import type { IncomingMessage } from 'node:http'
import { type Clock, type Log, Problem } from '@gatehouse/kit'
import type { Authenticate, Caller } from '../model/caller.ts'
import type { RequestIdentity } from '../model/request-identity.ts'

/** Ends connections that outlast a request together with the credential that opened them. */
export interface CredentialWatch {
  /**
   * Calls `end` once, when the credential of that request has expired, been revoked or lost a scope: what was opened may
   * depend on it. Returns a function that stops watching.
   * @param caller who opened the connection, as verified then
   */
  watch(raw: IncomingMessage, caller: WatchedCaller, end: () => void): () => void
  /** Checks every credential now. */
  checkNow(): Promise<void>
  /** Stops checking. Connections stay open. */
  stop(): void
}

/** What is compared with the caller that opened a connection. */
type WatchedCaller = Pick<Caller, 'expiresAt' | 'scopes'>

interface WatchedConnection {
  readonly raw: IncomingMessage
  readonly caller: WatchedCaller
  readonly end: () => void
  /** How many checks in a row had no result. */
  failures: number
}

/** A revocation is known within two seconds; this is added to it. */
const checkIntervalMs = 5_000
/** A connection ends after this many checks in a row without a result: the credential may be revoked by now. */
const maxFailures = 2
/** How many credentials are checked at the same time. */
const batchSize = 100

type CredentialCheck = Pick<RequestIdentity, 'caller' | 'refusal'>

interface Rechecker {
  /** Checks a request's credential again, whatever limit its address has reached. */
  recheck(raw: IncomingMessage): Promise<CredentialCheck>
}

/** The watch of a service without a gateway in front of it. */
export function createStandaloneWatch(authenticate: Authenticate, clock: Clock, log: Log): CredentialWatch {
  const recheck = async (raw: IncomingMessage): Promise<CredentialCheck> => {
    try {
      return { caller: await authenticate({ raw }) }
    } catch (refusal) {
      return { refusal }
    }
  }
  return createCredentialWatch({ recheck }, clock, log)
}

/** A watch that checks every five seconds while there is something to watch. */
export function createCredentialWatch(rechecker: Rechecker, clock: Clock, log: Log): CredentialWatch {
  const connections = new WatchedConnections(rechecker, clock, log)
  return {
    watch: (raw, caller, end) => connections.add(raw, caller, end),
    checkNow: () => connections.check(),
    stop: () => connections.stop(),
  }
}

class WatchedConnections {
  readonly #rechecker: Rechecker
  readonly #clock: Clock
  readonly #log: Log
  readonly #open = new Set<WatchedConnection>()
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(rechecker: Rechecker, clock: Clock, log: Log) {
    this.#rechecker = rechecker
    this.#clock = clock
    this.#log = log
  }

  add(raw: IncomingMessage, caller: WatchedCaller, end: () => void): () => void {
    const connection = { raw, caller, end, failures: 0 }
    this.#open.add(connection)
    this.#timer ??= setInterval(() => {
      this.check().catch((error: unknown) => this.#log.error({ err: error }, 'open connections could not be checked'))
    }, checkIntervalMs).unref()
    return () => this.#open.delete(connection)
  }

  /** One check at a time, and one more for all who call meanwhile. */
  check(): Promise<void> {
    if (this.#checking) {
      this.#next ??= this.#checking.then(
        () => this.check(),
        () => this.check(),
      )
      return this.#next
    }
    this.#next = undefined
    this.#checking = this.#checkAll().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #checkAll(): Promise<void> {
    const all = [...this.#open]
    for (let i = 0; i < all.length; i += batchSize)
      await Promise.all(all.slice(i, i + batchSize).map((connection) => this.#checkOne(connection)))
    if (this.#open.size === 0) this.stop()
  }

  async #checkOne(connection: WatchedConnection): Promise<void> {
    if (!this.#open.has(connection)) return
    const { expiresAt = Number.POSITIVE_INFINITY } = connection.caller
    const state = this.#clock.now() >= expiresAt ? 'ended' : await credentialState(this.#rechecker, connection)
    connection.failures = state === 'unknown' ? connection.failures + 1 : 0
    if (state === 'valid' || (state === 'unknown' && connection.failures < maxFailures)) return
    if (this.#open.delete(connection)) connection.end()
  }
}

/** The state of a credential; unknown while the issuer does not answer, or asks to wait. */
async function credentialState(
  rechecker: Rechecker,
  { raw, caller: opener }: WatchedConnection,
): Promise<'valid' | 'ended' | 'unknown'> {
  try {
    const { caller, refusal } = await rechecker.recheck(raw)
    if (caller !== undefined) return opener.scopes.isSubsetOf(caller.scopes) ? 'valid' : 'ended'
    return refusal instanceof Problem && refusal.status < 500 && refusal.status !== 429 ? 'ended' : 'unknown'
  } catch {
    return 'unknown'
  }
}
