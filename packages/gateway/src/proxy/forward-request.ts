import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { finished, PassThrough, type Readable } from 'node:stream'
import { hasBody, Problem } from '@gatehouse/kit'
import { type Dispatcher, errors } from 'undici'
import { cutOff } from './cut-off.ts'
import { acceptsTrailers, responseHeaders, responseTrailers, withGatewayHeaders } from './response-headers.ts'
import type { Upstream } from './upstream.ts'
import { tooSlow, unreachable, unusable } from './upstream-problems.ts'

/** One request to forward, with the headers of the upstream request and those that every response of ours carries. */
export interface ForwardRequest {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  /** The path and query of the upstream request. */
  readonly target: string
  readonly headers: string[]
  readonly gatewayHeaders: Readonly<Record<string, string>>
  /** Called when the upstream's response begins. What it throws is answered instead. */
  readonly onResponse?: (start: ResponseStart) => void
  /**
   * Called when a body that is not all there yet begins to be sent, with how to end it by a problem. Returns a function to
   * call when the upload is over.
   */
  readonly onUpload?: (end: (problem: Problem) => void) => () => void
}

/** A response whose headers have arrived and whose body has not. */
export interface ResponseStart {
  /** Whether its media type is one of a stream that ends only when one side ends it. */
  readonly isStream: boolean
  /** Ends it: an event stream normally; any other is cut off, so that half of it never passes for the whole. */
  readonly end: () => void
}

const eventStream = /^text\/event-stream(?:;|$)/i
const streamType =
  /^(?:text\/event-stream|application\/(?:x-)?ndjson|application\/(?:stream\+json|json-seq|grpc\S*)|multipart\/x-mixed-replace)(?:;|$)/i

/** How often a connection whose response is unread for too long is checked again, in milliseconds. */
const unreadCheckMs = 1_000

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Forwards a request to an upstream and its response back, streaming both ways with backpressure. A safe request
 * without a body is sent again when its connection fails before a response; nothing else is. A client that reads nothing
 * for as long as the response may pause is cut off when others wait for the connection. Resolves once the response is
 * written or its connection is cut off.
 * @throws Problem 502 when the upstream cannot be reached or does not answer in HTTP, 503 while its breaker is open or
 * all its connections are in use for too long, 504 when it exceeds a timeout
 */
export async function forwardRequest(upstream: Upstream, request: ForwardRequest): Promise<void> {
  const { raw, response } = request
  upstream.admit()
  const isRepeatable = safeMethods.has(raw.method ?? '') && !hasBody(raw)
  for (let retries = isRepeatable ? upstream.retries : 0; ; retries--) {
    try {
      await new Exchange(upstream, request).run()
      return
    } catch (error) {
      if (error instanceof NoResponseError && !response.destroyed)
        if (isFailure(error, request)) upstream.recordFailure(error)
        else upstream.noteFailure(error)
      if (retries <= 0 || response.destroyed || !(error instanceof NoResponseError) || error.isTimeout)
        throw toProblem(error)
    }
  }
}

/**
 * Whether the upstream failed, and not for a reason that any client can give it, whose upload is not all there: an
 * upstream may close the connection of one that is too slow or too large.
 */
function isFailure(error: NoResponseError, { raw }: ForwardRequest): boolean {
  return !error.isConnected || error.isTimeout || !hasBody(raw) || raw.complete
}

/** The upstream failed before its response began. */
class NoResponseError extends Error {
  /** Whether there was a connection on which the request began. */
  readonly isConnected: boolean
  /** Whether it took too long to connect, to read the request or to answer; never for want of a body. */
  readonly isTimeout: boolean

  constructor(cause: Error, isConnected: boolean) {
    super('the upstream did not answer', { cause })
    this.isConnected = isConnected
    this.isTimeout =
      cause instanceof errors.HeadersTimeoutError ||
      cause instanceof errors.ConnectTimeoutError ||
      cause instanceof errors.BodyTimeoutError
  }
}

function toProblem(error: unknown): unknown {
  if (!(error instanceof NoResponseError)) return error
  return error.isTimeout ? tooSlow(error.cause) : unreachable(error.cause)
}

function busy(): Problem {
  return new Problem(503, 'All connections to the service behind this address are in use.', {
    headers: { 'retry-after': '1' },
  })
}

/** One attempt to forward a request: undici calls its handler methods as the upstream answers. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #upstream: Upstream
  readonly #request: ForwardRequest
  readonly #done = Promise.withResolvers<void>()
  #controller: Dispatcher.DispatchController | undefined
  /** What of the request's body is not there yet goes through this. */
  #body: PassThrough | undefined
  #isEnded = false
  #isAnswered = false
  /** Whether the pool keeps it until a connection is free, with all that it holds; it counts, awaited or not. */
  #isQueued = false
  #lateness: NodeJS.Timeout | undefined
  /** Whether nobody waits for it any more that it begins. */
  #isAbandoned = false
  #startedAt = 0
  #endUpload: (() => void) | undefined
  #hasBody = false
  /** Limits how long the client may leave unread what it was sent. */
  #unread: NodeJS.Timeout | undefined

  constructor(upstream: Upstream, request: ForwardRequest) {
    this.#upstream = upstream
    this.#request = request
  }

  run(): Promise<void> {
    const { raw, response, target, headers } = this.#request
    const { queue } = this.#upstream
    if (queue.length >= queue.maxLength) return Promise.reject(busy())
    const body = hasBody(raw) ? this.#bodyOf(raw) : null
    response.once('close', this.#onClose)
    this.#startedAt = performance.now()
    queue.length++
    this.#isQueued = true
    this.#upstream.pool.dispatch({ path: target, method: raw.method ?? 'GET', headers, body }, this)
    if (this.#isQueued) this.#lateness = setTimeout(this.#onLate, queue.maxWaitMs)
    return this.#done.promise.finally(() => {
      clearTimeout(this.#lateness)
      clearTimeout(this.#unread)
      this.#endUpload?.()
      response.off('close', this.#onClose)
    })
  }

  /**
   * The body, not the request itself: the pool destroys what it does not send whole, and takes the socket from it. The rest
   * must still be read, for the next request of the connection comes after it.
   */
  #bodyOf(raw: IncomingMessage): Buffer | Readable | null {
    if (raw.complete) return raw.read()
    this.#body = new PassThrough().on('error', () => {})
    return this.#body
  }

  #sendBody(): void {
    const { raw } = this.#request
    const body = this.#body
    if (body === undefined) return
    // After the pipe's own listener, which pauses the request.
    raw.pipe(body).once('close', () => raw.resume())
    finished(raw, { writable: false }, (error) => error && body.destroy())
  }

  /** The pool has handed it back: it begins, or has failed before. */
  #leaveQueue(): void {
    if (!this.#isQueued) return
    this.#isQueued = false
    clearTimeout(this.#lateness)
    this.#upstream.queue.length--
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#leaveQueue()
    // The server itself may have answered it meanwhile, as it does where a body comes too slowly.
    if (this.#isAbandoned || this.#request.response.destroyed)
      controller.abort(new Error('nobody waits for it any more'))
    else {
      this.#sendBody()
      this.#watchUpload()
    }
  }

  #watchUpload(): void {
    const { raw, onUpload } = this.#request
    if (onUpload === undefined || this.#body === undefined) return
    this.#endUpload = onUpload((problem) => this.#refuse(problem))
    raw.once('end', this.#endUpload)
  }

  /** Ends an upload: with the problem, or where the response has begun already by cutting it off. */
  #refuse(problem: Problem): void {
    if (this.#request.response.headersSent) this.#end(false)
    else {
      this.#isEnded = true
      this.#done.reject(problem)
      this.#controller?.abort(new Error('the gateway ended the upload'))
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    const { response, gatewayHeaders, onResponse } = this.#request
    this.#recordAnswer()
    const type = String(headers['content-type'] ?? '').trim()
    try {
      onResponse?.({ isStream: streamType.test(type), end: () => this.#end(eventStream.test(type)) })
    } catch (refusal) {
      this.#done.reject(refusal)
      controller.abort(new Error('the gateway refused the response'))
      return
    }
    // The upstream's reason phrase may have characters that cannot be written, and tells a client nothing (RFC 9112 §4).
    const forwarded = responseHeaders(headers, { status, keepCookies: this.#upstream.ownCookies })
    response.writeHead(status, STATUS_CODES[status] ?? '', withGatewayHeaders(forwarded, gatewayHeaders))
    queueMicrotask(() => this.#sendHeadAlone())
  }

  /** Sends the head by itself where no body came in the same read: a stream may be silent for long. */
  #sendHeadAlone(): void {
    const { response } = this.#request
    if (!this.#hasBody && !response.writableEnded && !response.destroyed) response.flushHeaders()
  }

  #recordAnswer(): void {
    this.#isAnswered = true
    this.#upstream.recordSuccess(performance.now() - this.#startedAt)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { response } = this.#request
    this.#hasBody = true
    if (this.#isEnded || response.write(chunk)) return
    controller.pause()
    // The pool's own timeout does not run while the response is paused, which holds its connection.
    clearTimeout(this.#unread)
    this.#unread = setTimeout(this.#onUnread, this.#upstream.bodyTimeoutMs)
    response.once('drain', () => {
      clearTimeout(this.#unread)
      controller.resume()
    })
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    const { raw, response } = this.#request
    if (acceptsTrailers(raw)) response.addTrailers(responseTrailers(trailers))
    response.end()
    this.#done.resolve()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leaveQueue()
    if (this.#isAbandoned) return
    const { response } = this.#request
    if (response.headersSent) {
      if (!this.#isEnded) cutOff(response)
      this.#done.resolve()
      return
    }
    if (error instanceof errors.HeadersOverflowError) this.#recordAnswer()
    const isConnected = this.#controller !== undefined
    this.#done.reject(this.#isAnswered ? unusable(error) : new NoResponseError(error, isConnected))
  }

  #end(inOrder: boolean): void {
    const { response } = this.#request
    this.#isEnded = true
    // A client that has not read what it was sent would not read the end of it either.
    if (response.writableNeedDrain || !inOrder) cutOff(response)
    else response.end()
    this.#controller?.abort(new Error('the gateway ended the stream'))
  }

  readonly #onClose = (): void => {
    if (this.#request.response.writableFinished) return
    this.#isAbandoned = this.#controller === undefined
    if (this.#isAbandoned) this.#done.resolve()
    this.#controller?.abort(new Error('the client closed the connection'))
  }

  /**
   * The buffers of the operating system hold megabytes, so that a client that reads slowly is often not seen to read for
   * a minute. It keeps its connection while nobody else waits for one.
   */
  readonly #onUnread = (): void => {
    if (this.#upstream.pool.stats.queued > 0) this.#end(false)
    else this.#unread = setTimeout(this.#onUnread, unreadCheckMs)
  }

  readonly #onLate = (): void => {
    this.#isAbandoned = true
    this.#done.reject(busy())
  }
}
