import type { OutgoingHttpHeaders } from 'node:http2'
import type { SendResult } from '../model/send-result.ts'
import { hasEnded } from './deadlines.ts'
import { type HttpResponse, NeverSentError, resultOfError } from './http.ts'
import {
  type Connection,
  exchange,
  hasFreeStream,
  NotProcessedError,
  openConnection,
  pingConnection,
} from './http2-connection.ts'

/** Options of {@link createHttp2Client}. */
export interface Http2ClientOptions {
  /** Maximum number of connections. Another one is opened when all streams of the others are in use. */
  readonly connections: number
  /** Maximum duration of a request or of opening a connection, in milliseconds. */
  readonly timeoutMs: number
  /** A connection that was idle for this long is pinged, in milliseconds. Default 60 000. */
  readonly pingMs?: number
  /** A connection that does not respond to a ping within this time is closed, in milliseconds. Default 5 000. */
  readonly pongMs?: number
}

/** Calls one server over HTTP/2 connections that stay open, with as many streams on each as the server allows. */
export interface Http2Client {
  /** Rejects if no response arrives; {@link resultOfStreamError} turns the error into a result. */
  request(headers: OutgoingHttpHeaders, body: string, signal: AbortSignal): Promise<HttpResponse>
  close(): void
}

/** The result of a request without a response: transient if the server did not process it, else ambiguous. */
export function resultOfStreamError(error: unknown): SendResult {
  return error instanceof NotProcessedError ? { kind: 'transient', reason: error.message } : resultOfError(error)
}

/** Creates a client for the server at `origin`. */
export function createHttp2Client(origin: string, options: Http2ClientOptions): Http2Client {
  return new ConnectionPool(origin, { pingMs: 60_000, pongMs: 5_000, ...options })
}

interface Waiter {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: Error) => void
}

interface Ends {
  /** Of the caller. */
  readonly signal: AbortSignal
  /** The same, or after the longest duration of a request. */
  readonly ending: AbortSignal
}

/** How often a request that a connection did not process is sent over another one. */
const maxAttempts = 3

class ConnectionPool implements Http2Client {
  readonly #origin: string
  readonly #options: Required<Http2ClientOptions>
  readonly #connections = new Set<Connection>()
  readonly #waiters = new Set<Waiter>()

  constructor(origin: string, options: Required<Http2ClientOptions>) {
    this.#origin = origin
    this.#options = options
  }

  async request(headers: OutgoingHttpHeaders, body: string, signal: AbortSignal): Promise<HttpResponse> {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeoutMs)])
    for (let attempt = 1; ; attempt++) {
      const response = await this.#attempt(headers, body, { signal, ending })
      if (!(response instanceof Error)) return response
      if (!(response instanceof NotProcessedError) || attempt === maxAttempts) throw response
    }
  }

  close(): void {
    for (const { session } of this.#connections) session.destroy()
  }

  async #attempt(headers: OutgoingHttpHeaders, body: string, { signal, ending }: Ends): Promise<HttpResponse | Error> {
    const connection = await this.#acquire(ending)
    try {
      if (hasEnded(signal)) throw new NeverSentError('its time had passed before it was sent')
      return await exchange(connection, headers, body, ending)
    } catch (error) {
      if (error instanceof NotProcessedError) {
        connection.closing = true
        connection.session.close()
      }
      if (ending.aborted) pingConnection(connection, this.#options.pongMs)
      return error as Error
    } finally {
      connection.streams -= 1
      connection.usedAt = Date.now()
      this.#assign()
    }
  }

  #acquire(signal: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', () => {
        if (this.#waiters.delete(waiter)) reject(new NotProcessedError('no connection was free in time'))
      })
      this.#assign()
    })
  }

  /** Assigns free streams to those that wait, and opens a connection if there are too few. */
  #assign(): void {
    for (const waiter of this.#waiters) {
      const [connection] = [...this.#connections].filter(hasFreeStream).sort((a, b) => a.streams - b.streams)
      if (!connection) break
      this.#waiters.delete(waiter)
      connection.streams += 1
      waiter.resolve(connection)
    }
    const usable = [...this.#connections].filter(({ closing }) => !closing)
    const isOpening = usable.some(({ ready }) => !ready)
    if (this.#waiters.size > 0 && !isOpening && usable.length < this.#options.connections) this.#open()
  }

  #open(): void {
    const connection = openConnection(this.#origin, this.#options, {
      onChange: () => this.#assign(),
      onClose: (failure) => {
        this.#connections.delete(connection)
        if (!connection.ready) this.#rejectWaiters(failure)
        this.#assign()
      },
    })
    this.#connections.add(connection)
  }

  /** A connection could not be opened: unless another one is usable, nobody waits for more. */
  #rejectWaiters({ message, code }: Error & { readonly code?: string }): void {
    if ([...this.#connections].some(({ ready, closing }) => ready && !closing)) return
    for (const { reject } of this.#waiters) reject(new NotProcessedError(message || String(code)))
    this.#waiters.clear()
  }
}
