import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../log.ts'
import { maxHeaderBytes } from './broken-request.ts'

/** How long a connection stays open without a request: longer than proxies keep theirs, which else send into its end. */
const keepAliveTimeoutMs = 72_000

/** Requests of one connection that are served at a time. Clients that pipeline (RFC 9112 §9.3.2) send fewer at once. */
const maxUnanswered = 16

const sweepMs = 5_000
/** How many sweeps in a row may find that nothing more of an answer was accepted: 30 s. */
const maxStillSweeps = 6

/** Responses that are whole in memory. */
const inMemory = new WeakSet<ServerResponse>()

/** Limits how long a response that is whole in memory may be unread. */
export function limitUnread(response: ServerResponse): void {
  inMemory.add(response)
}

/**
 * Creates a server that bounds what one connection holds: Node parses a whole packet before it answers the first request
 * of it, and keeps an answer until it is read. A connection with more than 16 unanswered requests ends, and so does one
 * whose client reads nothing of an answer for 30 s where {@link limitUnread} applies. Other responses are streams, or
 * written past the server; they have the bounds of what writes them. Bodies of requests have no timeout here.
 */
export function createBoundedServer(log: Log, headersTimeoutMs: number, listener: RequestListener): Server {
  const connections = new Connections(log)
  const options = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersTimeoutMs,
    requestTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, headersTimeoutMs),
  }
  const server = createServer(options, (request, response) => {
    if (connections.admit(request, response)) listener(request, response)
  })
  server.on('connection', (socket) => connections.add(socket))
  let sweeping: NodeJS.Timeout | undefined
  server.on('listening', () => {
    sweeping = setInterval(() => connections.sweep(), sweepMs).unref()
  })
  server.on('close', () => clearInterval(sweeping))
  return server
}

interface Connection {
  /** In their order: what is written now belongs to the first. */
  readonly unanswered: Set<ServerResponse>
  isEnded: boolean
  flushedBytes: number | undefined
  stillSweeps: number
}

class Connections {
  readonly #log: Log
  readonly #open = new Map<Socket, Connection>()

  constructor(log: Log) {
    this.#log = log
  }

  add(socket: Socket): void {
    const unanswered = new Set<ServerResponse>()
    this.#open.set(socket, { unanswered, isEnded: false, flushedBytes: undefined, stillSweeps: 0 })
    socket.once('close', () => {
      this.#open.delete(socket)
      // Node does so itself, except on a connection that a CONNECT or an upgrade has taken from it.
      for (const response of unanswered) response.destroy()
    })
  }

  /** Whether a request is to be served. Those in the same packet behind one too many come after the connection's end. */
  admit({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(socket)
    if (connection === undefined) return true
    const { unanswered, isEnded } = connection
    if (isEnded) return false
    if (unanswered.size >= maxUnanswered) {
      connection.isEnded = true
      this.#end(socket, `refused: more than ${maxUnanswered} requests at once on a connection`)
      return false
    }
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
    return true
  }

  /** Ends the connections whose clients have read nothing for too long. */
  sweep(): void {
    for (const [socket, connection] of this.#open) {
      const [response] = connection.unanswered
      const isLimited = response !== undefined && inMemory.has(response) && socket.writableLength > 0
      const flushedBytes = isLimited ? flushedOf(socket) : undefined
      if (flushedBytes === undefined || flushedBytes !== connection.flushedBytes) {
        connection.flushedBytes = flushedBytes
        connection.stillSweeps = 0
      } else if (++connection.stillSweeps >= maxStillSweeps)
        this.#end(socket, `cut off: an answer was not read for ${(maxStillSweeps * sweepMs) / 1_000} s`)
    }
  }

  /** By a reset, so that the operating system does not go on to keep what is unread. */
  #end(socket: Socket, reason: string): void {
    this.#log.info({ ip: socket.remoteAddress ?? 'unknown' }, reason)
    socket.resetAndDestroy()
  }
}

/**
 * The bytes of a connection that the operating system has accepted. Node counts a write as a whole once it begins; what is
 * left of it is known to its handle alone.
 */
function flushedOf(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): number {
  return socket.bytesWritten - (socket._handle?.writeQueueSize ?? 0)
}
