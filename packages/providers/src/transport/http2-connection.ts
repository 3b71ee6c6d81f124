import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { HttpResponse } from './http.ts'

/** The server did not process the request: there was no connection, or the server reported it (RFC 9113 §6.8, §8.7). */
export class NotProcessedError extends Error {}

/** One HTTP/2 connection. */
export interface Connection {
  readonly session: ClientHttp2Session
  /** Set when the server's settings have arrived. */
  ready: boolean
  /** Set when the server accepts no more streams on it. */
  closing: boolean
  /** Set while the response to a ping is awaited. */
  pinging: boolean
  /** Streams in use. */
  streams: number
  /** Unix milliseconds. */
  usedAt: number
  /** The last stream that the server processed, if it sent GOAWAY. */
  lastStream: number
}

/** Timeouts of a connection, in milliseconds. */
export interface ConnectionTimeouts {
  readonly timeoutMs: number
  readonly pingMs: number
  readonly pongMs: number
}

/** What the owner of a connection is notified of. */
export interface ConnectionEvents {
  /** The number of streams it can carry has changed. */
  onChange(): void
  /** It is closed. */
  onClose(failure: Error): void
}

const maxStreams = 1_000
const maxBodyBytes = 64 * 1024

/** Whether another stream can be opened on a connection. */
export function hasFreeStream({ session, ready, closing, streams }: Connection): boolean {
  if (!ready || closing) return false
  return streams < Math.min(maxStreams, session.remoteSettings.maxConcurrentStreams ?? maxStreams)
}

/** Starts to open a connection. */
export function openConnection(
  origin: string,
  { timeoutMs, pingMs, pongMs }: ConnectionTimeouts,
  { onChange, onClose }: ConnectionEvents,
): Connection {
  const session = connect(origin, { settings: { enablePush: false } })
  const connection: Connection = {
    session,
    ready: false,
    closing: false,
    pinging: false,
    streams: 0,
    usedAt: Date.now(),
    lastStream: Infinity,
  }
  const timeout = setTimeout(() => session.destroy(new Error('no connection in time')), timeoutMs)
  const pinging = setInterval(() => {
    if (connection.ready && Date.now() - connection.usedAt >= pingMs) pingConnection(connection, pongMs)
  }, pingMs / 2).unref()
  let failure = new Error('the connection was closed')
  session.on('remoteSettings', () => {
    clearTimeout(timeout)
    connection.ready = true
    onChange()
  })
  session.on('goaway', (_code, lastStream) => {
    Object.assign(connection, { closing: true, lastStream })
    onChange()
  })
  session.on('error', (error: Error) => {
    failure = error
  })
  session.on('close', () => {
    clearTimeout(timeout)
    clearInterval(pinging)
    onClose(failure)
  })
  return connection
}

/**
 * Pings a connection and closes it if no response arrives: a peer that is gone does not say so. One ping at a time: beyond
 * ten that await their responses Node fails a ping at once, although the peer is there.
 */
export function pingConnection(connection: Connection, pongMs: number): void {
  const { session, pinging } = connection
  if (pinging || session.destroyed || session.closed) return
  connection.pinging = true
  const timeout = setTimeout(() => session.destroy(new Error('the connection answers no ping')), pongMs).unref()
  session.ping((error) => {
    clearTimeout(timeout)
    connection.pinging = false
    if (error) session.destroy(error)
  })
}

/** Sends one request on a stream of its own. Rejects with {@link NotProcessedError} if the server did not process it. */
export function exchange(
  connection: Connection,
  headers: OutgoingHttpHeaders,
  body: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const stream = openStream(connection, headers)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let head: Pick<HttpResponse, 'status' | 'headers'> | undefined
    const cancel = () => stream.close(constants.NGHTTP2_CANCEL)
    signal.addEventListener('abort', cancel, { once: true })
    stream.on('response', ({ ':status': status = 0, ...fields }) => {
      head = { status: Number(status), headers: fields as HttpResponse['headers'] }
    })
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBodyBytes) chunks.push(chunk)
      else cancel()
    })
    let failure: Error | undefined
    stream.on('error', (error: Error) => {
      failure = error
    })
    stream.on('close', () => {
      signal.removeEventListener('abort', cancel)
      const isWhole = stream.rstCode === constants.NGHTTP2_NO_ERROR || bytes > maxBodyBytes
      if (head && !signal.aborted && isWhole) resolve({ ...head, body: Buffer.concat(chunks).toString('utf8') })
      else reject(failureOf(connection, stream, failure))
    })
    stream.end(body)
  })
}

function openStream({ session }: Connection, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  if (session.closed || session.destroyed) throw new NotProcessedError('the connection was closed')
  try {
    return session.request(headers)
  } catch (error) {
    throw new NotProcessedError((error as Error).message)
  }
}

function failureOf({ lastStream }: Connection, stream: ClientHttp2Stream, failure: Error | undefined): Error {
  const isUnprocessed =
    stream.id === undefined || stream.id > lastStream || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM
  const message = failure?.message ?? `the stream was closed with code ${stream.rstCode}`
  return isUnprocessed ? new NotProcessedError(message) : new Error(message)
}
