import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { SendResult } from '../model/provider.ts'
import { type HttpResponse, resultOfError } from './http.ts'

export interface Http2ClientOptions {
  /** Most connections open at once; another is opened when those there are full. */
  readonly connections: number
  /** The longest a call or the making of a connection may take, in milliseconds. */
  readonly timeoutMs: number
  /** A connection that was idle for so long is pinged, in milliseconds. Default 60 000. */
  readonly pingMs?: number
  /** A connection that answers no ping for so long is dead, in milliseconds. Default 5 000. */
  readonly pongMs?: number
}

/** Calls one server over HTTP/2 connections that are kept: as many streams on each as the server allows. */
export interface Http2Client {
  /** Rejects when there is no answer; with {@link NotProcessed} when the server can't have seen the request. */
  request(headers: OutgoingHttpHeaders, body: string, signal: AbortSignal): Promise<HttpResponse>
  close(): void
}

/** The request was never looked at: there was no connection, or the server said that it did not get to it. */
class NotProcessed extends Error {}

/** What a call that was rejected means for a message: transient when the server can't have seen it, else nobody knows. */
export function resultOfStreamError(error: unknown): SendResult {
  return error instanceof NotProcessed ? { kind: 'transient', reason: error.message } : resultOfError(error)
}

interface Connection {
  readonly session: ClientHttp2Session
  /** Set once the server's settings came. */
  ready: boolean
  /** Set when the server takes no more streams on it. */
  closing: boolean
  streams: number
  usedAt: number
  /** The last stream that the server got to, where it said so. */
  lastStream: number
}

interface Waiter {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: Error) => void
}

const maxStreams = 1_000
/** A request that a connection never looked at goes to another one at once, so often. */
const maxAttempts = 3
const maxBodyBytes = 64 * 1024

export function createHttp2Client(origin: string, options: Http2ClientOptions): Http2Client {
  const { timeoutMs: callMs, pingMs = 60_000, pongMs = 5_000 } = options
  const open = new Set<Connection>()
  const waiting = new Set<Waiter>()

  const hasRoom = (each: Connection) => each.ready && !each.closing && each.streams < streamsOf(each)
  const pump = () => {
    for (const waiter of waiting) {
      const connection = [...open].filter(hasRoom).sort((a, b) => a.streams - b.streams)[0]
      if (!connection) break
      waiting.delete(waiter)
      connection.streams += 1
      waiter.resolve(connection)
    }
    const usable = [...open].filter(({ closing }) => !closing)
    if (waiting.size > 0 && usable.every(({ ready }) => ready) && usable.length < options.connections) start()
  }
  const start = () => {
    const connection = openConnection(origin, { timeoutMs: callMs, pingMs, pongMs }, pump, (failure) => {
      open.delete(connection)
      if (!connection.ready) giveUp(failure)
      pump()
    })
    open.add(connection)
  }
  const giveUp = (error: Error) => {
    if ([...open].some(({ ready, closing }) => ready && !closing)) return
    for (const { reject } of waiting)
      reject(new NotProcessed(error.message || String((error as { code?: string }).code)))
    waiting.clear()
  }
  const acquire = (signal: AbortSignal) =>
    new Promise<Connection>((resolve, reject) => {
      const waiter = { resolve, reject }
      waiting.add(waiter)
      signal.addEventListener('abort', () => {
        if (waiting.delete(waiter)) reject(new NotProcessed('no connection was free in time'))
      })
      pump()
    })

  const callOnce = async (headers: OutgoingHttpHeaders, body: string, ending: AbortSignal) => {
    const connection = await acquire(ending)
    try {
      return await exchange(connection, headers, body, ending)
    } catch (error) {
      if (error instanceof NotProcessed) {
        connection.closing = true
        connection.session.close()
      }
      if (ending.aborted) ping(connection.session, pongMs)
      return error as Error
    } finally {
      connection.streams -= 1
      connection.usedAt = Date.now()
      pump()
    }
  }

  return {
    async request(headers, body, signal) {
      const ending = AbortSignal.any([signal, AbortSignal.timeout(callMs)])
      for (let attempt = 1; ; attempt++) {
        const answer = await callOnce(headers, body, ending)
        if (!(answer instanceof Error)) return answer
        if (!(answer instanceof NotProcessed) || attempt === maxAttempts) throw answer
      }
    },
    close() {
      for (const { session } of open) session.destroy()
    },
  }
}

/** A connection under way. `changed` is told when it may carry more or less than before, `ended` when it is no more. */
function openConnection(
  origin: string,
  { timeoutMs: callMs, pingMs, pongMs }: Required<Omit<Http2ClientOptions, 'connections'>>,
  changed: () => void,
  ended: (failure: Error) => void,
): Connection {
  const session = connect(origin, { settings: { enablePush: false } })
  const connection = { session, ready: false, closing: false, streams: 0, usedAt: Date.now(), lastStream: Infinity }
  const tooLong = setTimeout(() => session.destroy(new Error('no connection in time')), callMs)
  const pinging = setInterval(() => {
    if (connection.ready && Date.now() - connection.usedAt >= pingMs) ping(session, pongMs)
  }, pingMs / 2).unref()
  let failure = new Error('the connection was closed')
  session.on('remoteSettings', () => {
    clearTimeout(tooLong)
    connection.ready = true
    changed()
  })
  session.on('goaway', (_code, lastStream) => {
    Object.assign(connection, { closing: true, lastStream })
    changed()
  })
  session.on('error', (error: Error) => {
    failure = error
  })
  session.on('close', () => {
    clearTimeout(tooLong)
    clearInterval(pinging)
    ended(failure)
  })
  return connection
}

function streamsOf({ session }: Connection): number {
  return Math.min(maxStreams, session.remoteSettings.maxConcurrentStreams ?? maxStreams)
}

/** A connection that answers no ping is dead, though nobody said so. */
function ping(session: ClientHttp2Session, pongMs: number): void {
  if (session.destroyed || session.closed) return
  const noPong = setTimeout(() => session.destroy(new Error('the connection answers no ping')), pongMs).unref()
  session.ping((error) => {
    clearTimeout(noPong)
    if (error) session.destroy(error)
  })
}

function exchange(
  connection: Connection,
  headers: OutgoingHttpHeaders,
  body: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const stream = openStream(connection, headers)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let answered: { readonly status: number; readonly headers: HttpResponse['headers'] } | undefined
    const cut = () => stream.close(constants.NGHTTP2_CANCEL)
    signal.addEventListener('abort', cut, { once: true })
    stream.on('response', ({ ':status': status = 0, ...fields }) => {
      answered = { status: Number(status), headers: fields as HttpResponse['headers'] }
    })
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBodyBytes) chunks.push(chunk)
      else cut()
    })
    let failure: Error | undefined
    stream.on('error', (error: Error) => {
      failure = error
    })
    stream.on('close', () => {
      signal.removeEventListener('abort', cut)
      const isWhole =
        answered && !signal.aborted && (stream.rstCode === constants.NGHTTP2_NO_ERROR || bytes > maxBodyBytes)
      if (answered && isWhole) resolve({ ...answered, body: Buffer.concat(chunks).toString('utf8') })
      else reject(failureOf(connection, stream, failure))
    })
    stream.end(body)
  })
}

function openStream({ session }: Connection, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  if (session.closed || session.destroyed) throw new NotProcessed('the connection was closed')
  try {
    return session.request(headers)
  } catch (error) {
    throw new NotProcessed((error as Error).message)
  }
}

function failureOf({ lastStream }: Connection, stream: ClientHttp2Stream, failure: Error | undefined): Error {
  const isUnseen =
    stream.id === undefined || stream.id > lastStream || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM
  const message = failure?.message ?? `the stream was closed with code ${stream.rstCode}`
  return isUnseen ? new NotProcessed(message) : new Error(message)
}
