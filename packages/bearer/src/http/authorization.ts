import { BearerError } from '../core/bearer-error.ts'

/** Node's `request.headers` or `request.headersDistinct`, or anything shaped like them. */
export interface HeaderFields {
  readonly authorization?: string | readonly string[] | undefined
}

/** The web's `Headers`. */
export interface HeaderReader {
  get(name: string): string | null
}

/** What may be handed to `authenticate`: the header's value, all its values, or the headers it stands in. */
export type Credentials = string | readonly string[] | HeaderFields | HeaderReader | null | undefined

const scheme = /^Bearer(?: +(\S+))?$/i

/**
 * Takes the token out of an `Authorization` header (RFC 6750 §2.1). Tokens in a query or a form are never looked at.
 * `request.headers` shows only the first of several Authorization headers; hand in `request.headersDistinct` to have
 * a repeated one refused.
 *
 * @throws BearerError `missing_token` (none, or another scheme), `invalid_request` (repeated, or not one token)
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
