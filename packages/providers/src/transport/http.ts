import { type Dispatcher, Pool } from 'undici'
import type { SendResult } from '../model/provider.ts'
import { createDeadlines, type Deadline } from './deadlines.ts'

/** A provider's answer. Of a body that is longer than it may be, only the beginning is there. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** From the base address, with the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Calls one provider over connections that are kept open; HTTP/2 where it offers that. */
export interface HttpClient {
  /** Rejects when there is no answer in time; {@link resultOfError} tells what that means for a message. */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  close(): Promise<void>
}

export interface HttpClientOptions {
  /** Connections at most, opened as calls come together; kept open. Default 64. */
  readonly connections?: number
  /** The longest a call may take, in milliseconds. */
  readonly timeoutMs: number
}

const maxBodyBytes = 64 * 1024
const maxRetryAfterMs = 86_400_000

/** A caller of what is at `base`. No redirect is followed. */
export function createHttpClient(base: URL, { connections = 64, timeoutMs: callMs }: HttpClientOptions): HttpClient {
  const pool = new Pool(base.origin, { connections, connectTimeout: callMs })
  const folder = base.pathname.replace(/\/$/, '')
  return {
    request: (request, signal) =>
      sendRequest(pool, base.origin, { ...request, path: `${folder}${request.path}` || '/' }, callMs, signal),
    close: () => pool.destroy(),
  }
}

const agent = { 'user-agent': 'gatehouse' } as const
const deadlines = new Map<number, () => Deadline>()

/** When calls of so many milliseconds that begin now must have ended. */
function deadlineAfter(callMs: number): Deadline {
  const known = deadlines.get(callMs) ?? createDeadlines(callMs, `it took longer than ${callMs} ms`)
  deadlines.set(callMs, known)
  return known()
}

/** One call within `callMs`, over a dispatcher that may serve many origins. */
export function sendRequest(
  dispatcher: Dispatcher,
  origin: string,
  { method, path, headers, body }: HttpRequest,
  callMs: number,
  signal: AbortSignal,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let failure: Error | undefined
    let head: Pick<HttpResponse, 'status' | 'headers'> | undefined
    const chunks: Buffer[] = []
    let bytes = 0
    const end = () => {
      stopWatching()
      signal.removeEventListener('abort', onAbort)
    }
    const fail = (reason: Error) => {
      end()
      reject(reason)
      failure = reason
      controller?.abort(reason)
    }
    const onAbort = () => fail(signal.reason as Error)
    const respond = () => {
      end()
      if (head) resolve({ ...head, body: Buffer.concat(chunks).subarray(0, maxBodyBytes).toString('utf8') })
    }
    const stopWatching = deadlineAfter(callMs).watch(fail)
    signal.addEventListener('abort', onAbort)
    const options = { origin, method, path, headers: { ...agent, ...headers }, body: body ?? null }
    dispatcher.dispatch(
      { ...options, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(started) {
          if (failure) started.abort(failure)
          controller = started
        },
        onResponseStart(_, status, fields) {
          head = { status, headers: fields }
        },
        onResponseData(_, chunk) {
          chunks.push(chunk)
          bytes += chunk.length
          if (bytes <= maxBodyBytes) return
          respond()
          controller?.abort(new Error('the rest of the answer is not needed'))
        },
        onResponseEnd: respond,
        onResponseError: (_, error) => fail(error),
      },
    )
    if (signal.aborted) onAbort()
  })
}

/** Errors before the first byte of a request went out. */
const neverSentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ENOTPUBLIC',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** What a call without an answer means: transient when it never got out, else nobody knows. */
export function resultOfError(error: unknown): SendResult {
  const { code, message } = error as { code?: string; message?: string }
  const reason = `no answer: ${message || code || 'the call failed'}`.slice(0, 500)
  return { kind: neverSentCodes.has(code ?? '') ? 'transient' : 'ambiguous', reason }
}

/** How long an answer asks to wait (RFC 9110 §10.2.3, seconds or a date), a day at most; undefined when it doesn't say. */
export function parseRetryAfter({ headers }: HttpResponse, now: number): number | undefined {
  const field = [headers['retry-after']].flat()[0]?.trim()
  if (!field) return undefined
  const pause = /^\d+$/.test(field) ? Number(field) * 1_000 : Date.parse(field) - now
  return Number.isNaN(pause) ? undefined : Math.min(maxRetryAfterMs, Math.max(0, pause))
}

/** An answer's body, when it is a JSON object. */
export function parseJsonObject({ body }: HttpResponse): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as never) : undefined
  } catch {
    return undefined
  }
}

/** What an answer says, short enough for a timeline. */
export function describeResponse({ status, body }: HttpResponse): string {
  const text = body.replace(/\s+/g, ' ').trim().slice(0, 300)
  return text ? `answered ${status}: ${text}` : `answered ${status}`
}

/** The address of a member such as `url`. Throws RangeError naming it when it can't be one. */
export function parseBaseUrl(member: string, text: string): URL {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username
  if (!isPlain)
    throw new RangeError(`${member} must be an http:// or https:// address without user, query and fragment`)
  return url
}
