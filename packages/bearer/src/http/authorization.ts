import { BearerError } from '../core/bearer-error.ts'

/** Node's `request.headers` or `request.headersDistinct`, or an object like them. */
export interface HeaderFields {
  /** The Authorization header, or all of them. */
  readonly authorization?: string | readonly string[] | undefined
}

/** The `Headers` of the Fetch API, or an object like it. */
export interface HeaderReader {
  /** The value of a header; null without one. */
  get(name: string): string | null
}

/** What `authenticate` accepts: the value of the Authorization header, all its values, or the headers that contain it. */
export type Credentials = string | readonly string[] | HeaderFields | HeaderReader | null | undefined

const scheme = /^Bearer(?: +(\S+))?$/i

/**
 * Reads the token from an `Authorization` header (RFC 6750 §2.1). Tokens in a query or a form are ignored.
 * `request.headers` has only the first of several Authorization headers; pass `request.headersDistinct` so that a
 * repeated header is refused.
 *
 * @throws BearerError `missing_token` (none, or another scheme), `invalid_request` (repeated, or not exactly
 * one token)
 * @example
 * ```ts
 * bearerToken('Bearer mF_9.B5f-4.1JqM') // 'mF_9.B5f-4.1JqM'
 * ```
 */
export function bearerToken(credentials: Credentials): string {
  const value = headerValue(credentials)
  if (value === undefined || value === '') throw new BearerError('missing_token', 'missing')
  if (value.startsWith('Bearer ') && !value.includes(' ', 7) && value.length > 7) return value.slice(7)
  if (!/^Bearer(?:\s|$)/i.test(value)) throw new BearerError('missing_token', 'missing')
  const token = scheme.exec(value)?.[1]
  if (token === undefined) throw new BearerError('invalid_request', 'syntax')
  return token
}

function headerValue(credentials: Credentials): string | undefined {
  if (typeof credentials === 'string') return credentials
  if (credentials === null || credentials === undefined) return undefined
  if (isList(credentials)) {
    if (credentials.length > 1) throw new BearerError('invalid_request', 'repeated')
    return credentials[0]
  }
  if (isReader(credentials)) return credentials.get('authorization') ?? undefined
  return headerValue(credentials.authorization)
}

function isList(credentials: object): credentials is readonly string[] {
  return Array.isArray(credentials)
}

function isReader(credentials: HeaderFields | HeaderReader): credentials is HeaderReader {
  return 'get' in credentials && typeof credentials.get === 'function'
}
