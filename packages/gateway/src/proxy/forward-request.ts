import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '@gatehouse/kit'
import { type Dispatcher, errors } from 'undici'
import { acceptsTrailers, responseHeaders, responseTrailers } from '../http/headers.ts'
import type { Upstream } from './upstream.ts'

/** One request to pass on, with the headers the upstream gets and those every answer of ours carries. */
export interface ForwardRequest {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  /** The path to ask the upstream for. */
  readonly target: string
  readonly headers: string[]
  readonly gatewayHeaders: Readonly<Record<string, string>>
  /** Told when the answer begins, and how to end it early. What it throws is answered instead. */
  readonly onResponse?: (answer: ResponseStart) => void
}

/** An answer whose headers are there and whose body is not. */
export interface ResponseStart {
  /** Whether its type says that it ends when somebody ends it. */
  readonly isStream: boolean
  /** Ends it: a stream of events in good order, any other broken off, lest half of it pass for the whole. */
  readonly end: () => void
}

const eventStream = /^text\/event-stream(?:;|$)/i
const streamType =
  /^(?:text\/event-stream|application\/(?:x-)?ndjson|application\/(?:stream\+json|json-seq|grpc\S*)|multipart\/x-mixed-replace)(?:;|$)/i

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Passes a request to an upstream and its answer back, streaming both ways with backpressure. A safe request without a
 * body is sent again when its connection fails before an answer; nothing else ever is. Resolves once the answer is
 * written or its connection is cut off.
 * @throws Problem 502 when the upstream can't be reached or answers no HTTP, 503 while it is spared, 504 when it takes
 * too long.
 */
export async function forwardRequest(upstream: Upstream, request: ForwardRequest): Promise<void> {
  const { raw, response } = request
  upstream.admit()
  const repeatable = safeMethods.has(raw.method ?? '') && !hasBody(raw)
  for (let left = repeatable ? upstream.retries : 0; ; left--) {
    try {
      await forwardOnce(upstream, request)
      return
    } catch (error) {
      if (error instanceof NoResponseError && !response.destroyed) upstream.recordFailure(error)
      if (left <= 0 || response.destroyed || !(error instanceof NoResponseError) || error.timeout)
        throw toProblem(error)
    }
  }
}

/** The upstream failed before it began to answer. */
class NoResponseError extends Error {
  readonly timeout: boolean

  constructor(cause: Error) {
    super('the upstream did not answer', { cause })
    this.timeout =
      cause instanceof errors.HeadersTimeoutError ||
      cause instanceof errors.ConnectTimeoutError ||
      cause instanceof errors.BodyTimeoutError
  }
}

function toProblem(error: unknown): unknown {
  if (!(error instanceof NoResponseError)) return error
  return error.timeout
    ? new Problem(504, 'The service behind this address took too long to answer.', { cause: error.cause })
    : new Problem(502, 'The service behind this address could not be reached.', { cause: error.cause })
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function forwardOnce(upstream: Upstream, request: ForwardRequest): Promise<void> {
  const { raw, response, target, headers, gatewayHeaders: answered } = request
  const body = hasBody(raw) ? raw : null
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let controller: Dispatcher.DispatchController | undefined
  let ended = false
  const end = (inGoodOrder: boolean) => {
    ended = true
    // One that has not taken what it was sent would not take the end of it either.
    if (response.writableNeedDrain || !inGoodOrder) response.destroy()
    else response.end()
    controller?.abort(new Error('the stream was ended here'))
  }
  const onClose = () => {
    if (!response.writableFinished) controller?.abort(new Error('the caller went away'))
  }
  response.once('close', onClose)
  upstream.pool.dispatch(
    { path: target, method: raw.method ?? 'GET', headers, body },
    {
      onRequestStart(started) {
        controller = started
        if (response.destroyed) onClose()
      },
      onResponseStart(started, status, upstreamHeaders, statusMessage) {
        if (status < 200) return
        upstream.recordSuccess()
        const type = String(upstreamHeaders['content-type'] ?? '').trim()
        try {
          request.onResponse?.({ isStream: streamType.test(type), end: () => end(eventStream.test(type)) })
        } catch (refusal) {
          reject(refusal)
          return started.abort(new Error('the answer was refused here'))
        }
        response.writeHead(status, statusMessage ?? '', {
          ...responseHeaders(upstreamHeaders, { keepCookies: upstream.ownCookies }),
          ...answered,
        })
      },
      onResponseData(pausable, chunk) {
        if (ended || response.write(chunk)) return
        pausable.pause()
        response.once('drain', () => pausable.resume())
      },
      onResponseEnd(_controller, trailers) {
        if (acceptsTrailers(raw)) response.addTrailers(responseTrailers(trailers))
        response.end()
        resolve()
      },
      onResponseError(_controller, error) {
        if (!response.headersSent) return reject(new NoResponseError(error))
        if (!ended) response.destroy()
        resolve()
      },
    },
  )
  return promise.finally(() => response.off('close', onClose))
}
