import { prepare, sendOnce } from '../call/attempt.ts'
import type { ClientConnection } from '../call/connection.ts'
import { report } from '../call/hooks.ts'
import type { CallOptions, CallRequest } from '../call/request.ts'
import { retryAfterOf } from '../errors/api-error.ts'
import { GatehouseError } from '../errors/gatehouse-error.ts'
import { beginDeadline, orConnectionError, pause } from '../platform/waiting.ts'
import { EventParser, type ServerSentEvent } from './event-parser.ts'

/** Options of {@link events}. */
export interface StreamOptions extends Pick<CallOptions, 'signal' | 'headers'> {
  /** Resumes after this event. */
  readonly lastEventId?: string | undefined
  /** A stream without a sign of life for so long is opened again. Default: 60,000. */
  readonly silenceMs?: number
}

const defaultRetryMs = 1_000
const maxPauseMs = 30_000

/**
 * The events of a stream, over `fetch`, until the loop is left or the signal is aborted. A stream that ends, breaks or
 * falls silent is opened again after the last event, with a token that is valid then: after the time that the server
 * names, doubled with each failure up to 30 s, with jitter.
 *
 * @throws GatehouseError for a refusal that waiting does not change; the reason of the signal when it is aborted
 * @example
 * ```ts
 * for await (const { event, data } of events(connection, { method: 'GET', path: '/v1/events' })) console.log(event, data)
 * ```
 */
export async function* events<Data = unknown>(
  connection: ClientConnection,
  request: CallRequest,
  options: StreamOptions = {},
): AsyncGenerator<ServerSentEvent<Data>, void, undefined> {
  const { clock, random } = connection.platform
  let lastEventId = options.lastEventId ?? ''
  let retryMs = defaultRetryMs
  for (let failures = 0; ; ) {
    const parser = new EventParser(lastEventId)
    let retryAfterMs = 0
    try {
      const pieces = await openStream(connection, request, { ...options, lastEventId })
      if (pieces === undefined) return
      for await (const piece of pieces) {
        failures = 0
        for (const event of parser.push(piece)) {
          lastEventId = event.id
          yield event as ServerSentEvent<Data>
        }
      }
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!(error instanceof GatehouseError && error.retryable)) throw error
      failures++
      retryAfterMs = retryAfterOf(error)
      const { operation, method, path } = request
      report(connection.hooks.onRetry, {
        operation,
        method,
        path,
        attempt: failures,
        code: error.code,
        waitMs: retryAfterMs,
      })
    }
    lastEventId = parser.lastEventId
    retryMs = parser.retryMs ?? retryMs
    const backoffMs = Math.min(maxPauseMs, retryMs * 2 ** Math.max(0, failures - 1)) * (0.5 + random() / 2)
    await pause(clock, Math.max(retryAfterMs, backoffMs), options.signal)
  }
}

/** The text of a stream as it comes; undefined when the server says that there is none any more (204). */
async function openStream(
  connection: ClientConnection,
  request: CallRequest,
  { lastEventId, silenceMs = 60_000, signal, headers }: StreamOptions,
): Promise<AsyncGenerator<string> | undefined> {
  const { clock } = connection.platform
  const resume = lastEventId ? { 'last-event-id': lastEventId } : {}
  const accept = { accept: 'text/event-stream', ...headers, ...resume }
  const opening = beginDeadline(clock, silenceMs, signal)
  try {
    const answer = await sendOnce(prepare(connection, request, { headers: accept }), 2, opening.signal)
    if (answer.status === 204 || answer.body === null) return undefined
    if (/^text\/event-stream\b/.test(answer.headers.get('content-type') ?? '')) return piecesOf(answer.body)
    void answer.body.cancel().catch(() => {})
    throw new GatehouseError('the answer is no stream of events', { code: 'invalid_response' })
  } finally {
    opening.end()
  }

  async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    const reader = body.getReader()
    const decoder = new TextDecoder()
    try {
      for (;;) {
        const bound = beginDeadline(clock, silenceMs, signal)
        const { done, value } = await orConnectionError(reader.read(), bound.signal).finally(bound.end)
        if (done) return
        yield decoder.decode(value, { stream: true })
      }
    } finally {
      void reader.cancel().catch(() => {})
    }
  }
}
