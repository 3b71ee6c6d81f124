import { invalidToken } from '../core/bearer-error.ts'
import type { TokenHeader, TokenHeaders } from './token-header.ts'
import { decodePart } from './token-part.ts'

/** The decoded parts of a compact JWS (RFC 7515 §3.1). None is trusted yet. */
export interface CompactToken {
  readonly header: TokenHeader
  readonly signedBytes: Buffer
  readonly signature: Buffer
  readonly payload: Buffer
}

/** Whether a token has three parts joined by dots, as a JWT does. Any other token is opaque. */
export function looksLikeJwt(token: string): boolean {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  return first > 0 && second > first && !token.includes('.', second + 1)
}

/** @throws BearerError `invalid_token` */
export function parseCompact(token: string, headers: TokenHeaders): CompactToken {
  if (!looksLikeJwt(token)) throw invalidToken('malformed')
  const firstDot = token.indexOf('.')
  const lastDot = token.lastIndexOf('.')
  return {
    header: headers.read(token.slice(0, firstDot)),
    signedBytes: Buffer.from(token.slice(0, lastDot), 'latin1'),
    signature: decodePart(token.slice(lastDot + 1)),
    payload: decodePart(token.slice(firstDot + 1, lastDot)),
  }
}
