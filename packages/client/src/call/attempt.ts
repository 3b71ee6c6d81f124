import { requestUrl } from '../http/address.ts'
import { parseChallenge, parseRefusal, requestIdOf } from '../http/answer.ts'
import { fetchDirectly, readText, untilAborted } from '../platform/waiting.ts'
import type { ClientConnection } from './connection.ts'
import { report } from './hooks.ts'
import { type CallOptions, type CallRequest, encodeBody } from './request.ts'

/** A request that is ready to be sent, several times perhaps. */
export interface Prepared {
  readonly connection: ClientConnection
  readonly request: CallRequest
  readonly url: URL
  readonly headers: Headers
  readonly body?: string
  /** Requests that were sent. */
  sent: number
  /** Whether the credentials were renewed for this call. */
  renewed: boolean
}

/** Makes a request ready. @throws TypeError for parameters that name no resource */
export function prepare(connection: ClientConnection, request: CallRequest, options: CallOptions): Prepared {
  const { body, headers } = encodeBody(request)
  return {
    connection,
    request,
    url: requestUrl(connection.baseUrl, request.path, request.params, request.query),
    headers: mergeHeaders(
      { accept: 'application/json' },
      connection.headers,
      headers,
      request.headers,
      options.headers,
      options.ifMatch === undefined ? {} : { 'if-match': options.ifMatch },
    ),
    ...(body === undefined ? {} : { body }),
    sent: 0,
    renewed: false,
  }
}

/**
 * Sends a request; once in the life of a call it is repeated with new credentials, after 401 `invalid_token`. The body
 * of a refusal is read within `signal`; that of the answer is left to the caller.
 * @throws GatehouseError for anything but an answer of 2xx
 */
export async function sendOnce(prepared: Prepared, maxSent: number, signal: AbortSignal): Promise<Response> {
  const { connection, request } = prepared
  const credentials = request.open ? undefined : connection.credentials
  for (;;) {
    const secret = credentials ? await untilAborted(credentials.headers(connection.platform), signal) : {}
    const response = await exchange(prepared, secret, signal)
    if (response.ok) return response
    if (mayRenew(prepared, maxSent, response) && credentials?.discard?.(secret)) {
      prepared.renewed = true
      void response.body?.cancel().catch(() => {})
      continue
    }
    const text = await readText(response, signal)
    throw parseRefusal(response.status, response.headers, text, connection.platform.clock.now())
  }
}

async function exchange(prepared: Prepared, secret: Readonly<Record<string, string>>, signal: AbortSignal) {
  const { connection, request, url, headers, body } = prepared
  const { hooks, platform } = connection
  const event = { operation: request.operation, method: request.method, path: request.path, attempt: ++prepared.sent }
  report(hooks.onRequest, event)
  const beganAt = platform.clock.now()
  const init = { method: request.method, headers: mergeHeaders(headers, secret), cache: 'no-store', signal } as const
  const response = await fetchDirectly(platform, url, body === undefined ? init : { ...init, body })
  const { status } = response
  const durationMs = platform.clock.now() - beganAt
  report(hooks.onResponse, { ...event, status, durationMs, requestId: requestIdOf(response.headers) })
  return response
}

/** Header fields of several origins; the last one wins, whatever its case. */
function mergeHeaders(...all: readonly (Headers | Readonly<Record<string, string>> | undefined)[]): Headers {
  const merged = new Headers()
  for (const fields of all) new Headers(fields).forEach((value, name) => void merged.set(name, value))
  return merged
}

function mayRenew({ renewed, sent }: Prepared, maxSent: number, { status, headers }: Response): boolean {
  return status === 401 && !renewed && sent < maxSent && parseChallenge(headers).error === 'invalid_token'
}
