import { type Dispatcher, Pool } from 'undici'
import type { SendResult } from '../model/send-result.ts'
import { createDeadlines, type Deadline, hasEnded } from './deadlines.ts'

/** The response of a provider. A body longer than 64 KiB is truncated, and one that broke off may be too. */
export interface HttpResponse {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** A request to a provider. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** Relative to the base URL, with the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Calls one provider over connections that stay open. Redirects are not followed. */
export interface HttpClient {
  /**
   * Rejects if no response arrives in time; {@link resultOfError} turns the error into a result. Of a POST the status
   * is enough where it alone says what became of the request, whatever becomes of the body (RFC 9112 §8).
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  close(): Promise<void>
}

/** Options of {@link createHttpClient}. */
export interface HttpClientOptions {
  /** Maximum number of connections, opened as requests are concurrent. Default 64. */
  readonly connections?: number
  /** Maximum duration of a request, in milliseconds. */
  readonly timeoutMs: number
}

const maxBodyBytes = 64 * 1024
const maxRetryAfterMs = 86_400_000
/**
 * Not HTTP/2: there a request that is abandoned leaves its connection open, also one whose server is gone without a word,
 * and the next requests would use it.
 */
export const allowH2 = false

/** Creates a client for the URLs below `base`. */
export function createHttpClient(base: URL, { connections = 64, timeoutMs }: HttpClientOptions): HttpClient {
  const pool = new Pool(base.origin, { connections, connectTimeout: timeoutMs, allowH2 })
  const folder = base.pathname.replace(/\/$/, '')
  return {
    request: (request, signal) =>
      sendRequest(pool, base.origin, { ...request, path: `${folder}${request.path}` || '/' }, { timeoutMs, signal }),
    close: () => pool.destroy(),
  }
}

/** When a request is abandoned. */
export interface RequestLimits {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const defaultHeaders = { 'user-agent': 'gatehouse' } as const

/** Sends one request over a dispatcher, which may serve many origins. Rejects if no response arrives in time. */
export function sendRequest(
  dispatcher: Dispatcher,
  origin: string,
  { method, path, headers, body }: HttpRequest,
  { timeoutMs, signal }: RequestLimits,
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>()
  const exchange = new Exchange({ resolve, reject, signal, needsBody: method === 'GET' })
  exchange.start(deadlineAfter(timeoutMs))
  const options = { origin, method, path, headers: { ...defaultHeaders, ...headers }, body: body ?? null }
  dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, exchange)
  if (signal.aborted) exchange.abort()
  return promise
}

const deadlines = new Map<number, () => Deadline>()

function deadlineAfter(timeoutMs: number): Deadline {
  const known = deadlines.get(timeoutMs) ?? createDeadlines(timeoutMs, `it took longer than ${timeoutMs} ms`)
  deadlines.set(timeoutMs, known)
  return known()
}

interface ExchangeOptions {
  readonly resolve: (response: HttpResponse) => void
  readonly reject: (error: Error) => void
  readonly signal: AbortSignal
  /** Whether the response is of no use without its whole body. */
  readonly needsBody: boolean
}

/** Whether a status alone says what became of a request. Of other rejections the body says the reason. */
function isConclusive(status: number): boolean {
  return (status >= 200 && status < 300) || status === 429 || status >= 500
}

/** The request failed before its first byte was sent. */
export class NeverSentError extends Error {}

/** One request and its response, which settles a promise exactly once. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (response: HttpResponse) => void
  readonly #reject: (error: Error) => void
  readonly #signal: AbortSignal
  readonly #needsBody: boolean
  #stopWatching: (() => void) | undefined
  #deadline: Deadline | undefined
  #controller: Dispatcher.DispatchController | undefined
  #failure: Error | undefined
  #head: Pick<HttpResponse, 'status' | 'headers'> | undefined
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor({ resolve, reject, signal, needsBody }: ExchangeOptions) {
    this.#resolve = resolve
    this.#reject = reject
    this.#signal = signal
    this.#needsBody = needsBody
  }

  start(deadline: Deadline): void {
    this.#deadline = deadline
    this.#stopWatching = deadline.watch(this.#fail)
    this.#signal.addEventListener('abort', this.abort)
  }

  readonly abort = (): void => this.#fail(this.#signal.reason as Error)

  /** Called right before the first byte is sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    const isLate = hasEnded(this.#signal) || (this.#deadline !== undefined && hasEnded(this.#deadline.signal))
    if (this.#failure) controller.abort(this.#failure)
    else if (isLate) this.#fail(new NeverSentError('its time had passed before it was sent'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#head = { status, headers }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes <= maxBodyBytes) return
    this.onResponseEnd()
    this.#controller?.abort(new Error('the rest of the body is not needed'))
  }

  onResponseEnd(): void {
    this.#end()
    if (!this.#head) return
    const body = Buffer.concat(this.#chunks).subarray(0, maxBodyBytes).toString('utf8')
    this.#resolve({ ...this.#head, body })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  readonly #fail = (error: Error): void => {
    if (!this.#needsBody && this.#head && isConclusive(this.#head.status)) this.onResponseEnd()
    this.#end()
    this.#reject(this.#controller ? error : new NeverSentError(describeError(error)))
    this.#failure = error
    this.#controller?.abort(error)
  }

  #end(): void {
    this.#stopWatching?.()
    this.#signal.removeEventListener('abort', this.abort)
  }
}

/** The result of a request without a response: transient if it was never sent, else ambiguous. */
export function resultOfError(error: unknown): SendResult {
  const reason = `no answer: ${describeError(error)}`.slice(0, 500)
  return { kind: error instanceof NeverSentError ? 'transient' : 'ambiguous', reason }
}

function describeError(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  return message || code || 'the call failed'
}

/**
 * The delay in milliseconds that a Retry-After field asks for (RFC 9110 §10.2.3, seconds or a date), at most a day.
 * Undefined if there is none.
 */
export function parseRetryAfter({ headers }: HttpResponse, now: number): number | undefined {
  const field = [headers['retry-after']].flat()[0]?.trim()
  if (!field) return undefined
  const delay = /^\d+$/.test(field) ? Number(field) * 1_000 : Date.parse(field) - now
  return Number.isNaN(delay) ? undefined : Math.min(maxRetryAfterMs, Math.max(0, delay))
}

/** The member `retryAfterMs` of a result, if the response has a Retry-After field. */
export function retryAfterOf(response: HttpResponse, now: number): { readonly retryAfterMs?: number } {
  const retryAfterMs = parseRetryAfter(response, now)
  return retryAfterMs === undefined ? {} : { retryAfterMs }
}

/** The body of a response, if it is a JSON object. */
export function parseJsonObject({ body }: HttpResponse): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as never) : undefined
  } catch {
    return undefined
  }
}

/** Status and body of a response in one line of at most 300 characters of body, for logs and timelines. */
export function describeResponse({ status, body }: HttpResponse): string {
  const text = body.replace(/\s+/g, ' ').trim().slice(0, 300)
  return text ? `answered ${status}: ${text}` : `answered ${status}`
}

/**
 * The URL of an option.
 * @throws RangeError naming the option if it is not an http or https URL, or has a user, query or fragment
 */
export function parseBaseUrl(option: string, text: string): URL {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username
  if (!isPlain)
    throw new RangeError(`${option} must be an http:// or https:// address without user, query and fragment`)
  return url
}
