import type { PathParameters, Query } from '../http/address.ts'

/** What a call sends. */
export interface CallRequest {
  /** The name of the operation, for hooks. */
  readonly operation?: string | undefined
  readonly method: string
  /** Below the base URL, with parameters as `{id}`. */
  readonly path: string
  readonly params?: PathParameters
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, unless `contentType` says that it is a text or a form. */
  readonly body?: unknown
  /** Default: `application/json`. A form is made of an object; any other type takes a string. */
  readonly contentType?: string | undefined
  /** Whether it may be sent twice. Default: true for GET, HEAD, PUT and DELETE. */
  readonly idempotent?: boolean | undefined
  /** Whether it goes without credentials. Default: false. */
  readonly open?: boolean | undefined
}

/** What an answer came with, beside its value. */
export interface AnswerFacts {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string | undefined
  /** The version of the resource, for `ifMatch`. */
  readonly etag: string | undefined
}

/** How one call differs from others of its connection. */
export interface CallOptions {
  /** How long the call may take with all its attempts, in milliseconds. */
  readonly timeoutMs?: number
  /** How long one attempt may take, in milliseconds. */
  readonly attemptTimeoutMs?: number
  readonly maxAttempts?: number
  /** Ends the call; it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Changes only this version of the resource (`If-Match`). Such a call is not repeated. */
  readonly ifMatch?: string
  /** Receives what the answer came with. */
  readonly onAnswer?: (facts: AnswerFacts) => void
}

const form = 'application/x-www-form-urlencoded'
const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])

/** Whether a request may be sent twice (RFC 9110 §9.2.2). */
export function isIdempotent({ method, idempotent }: CallRequest): boolean {
  return idempotent ?? repeatableMethods.has(method)
}

/** The body of a request and the header field that names its type; the same for each attempt. */
export function encodeBody({ body, contentType = 'application/json' }: CallRequest): {
  readonly body?: string
  readonly headers: Readonly<Record<string, string>>
} {
  if (body === undefined) return { headers: {} }
  const headers = { 'content-type': contentType }
  if (contentType === form) return { body: encodeForm(body as Query), headers }
  return {
    body: contentType.endsWith('json') && !contentType.endsWith('ndjson') ? JSON.stringify(body) : String(body),
    headers,
  }
}

function encodeForm(members: Query): string {
  const pairs = Object.entries(members).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  )
  return new URLSearchParams(pairs).toString()
}
