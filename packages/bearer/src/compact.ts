import { type BearerErrorReason, invalidToken } from './bearer-error.ts'
import { type JsonObject, parseStrictJson } from './strict-json.ts'

/** A compact JWS (RFC 7515 §3.1) taken apart; nothing in it is trusted yet. */
export interface CompactToken {
  readonly alg: string
  readonly kid: string | undefined
  readonly signedBytes: Buffer
  readonly signature: Buffer
  readonly payload: Buffer
}

/** Longest token that is looked at, in characters. */
export const longestToken = 8192

/**
 * Key material or extensions chosen by the sender. A verifier that follows them verifies whatever the sender likes
 * (RFC 8725 §3.10); `crit` names extensions that must be understood, and none is (RFC 7515 §4.1.11, RFC 7797).
 */
const refusedMembers = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c']
const longestKid = 256

/** Three parts joined by dots, as a JWT has; an opaque token is anything else. */
export function looksLikeJwt(token: string): boolean {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  return first > 0 && second > first && !token.includes('.', second + 1)
}

/**
 * Splits a token and reads its header. The type must be that of an access token (RFC 9068 §2.1), which also keeps
 * ID tokens out.
 *
 * @throws BearerError `invalid_token`
 */
export function parseCompact(token: string): CompactToken {
  if (token.length > longestToken) throw invalidToken('too_long')
  if (!looksLikeJwt(token)) throw invalidToken('malformed')
  const firstDot = token.indexOf('.')
  const lastDot = token.lastIndexOf('.')
  const header = parsePart(token.slice(0, firstDot))
  for (const member of refusedMembers) if (Object.hasOwn(header, member)) throw invalidToken('header')
  const { alg, kid, typ } = header
  if (typeof alg !== 'string') throw invalidToken('malformed')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > longestKid)) throw invalidToken('malformed')
  if (typeof typ !== 'string' || !isAccessTokenType(typ)) throw invalidToken('type')
  return {
    alg,
    kid,
    signedBytes: Buffer.from(token.slice(0, lastDot), 'latin1'),
    signature: decodePart(token.slice(lastDot + 1)),
    payload: decodePart(token.slice(firstDot + 1, lastDot)),
  }
}

/** @throws BearerError `invalid_token` with the given reason when the bytes are not one clean JSON object */
export function parseClaims(payload: Buffer): JsonObject {
  return parseJson(payload, 'claims')
}

function isAccessTokenType(typ: string): boolean {
  const type = typ.toLowerCase()
  return type === 'at+jwt' || type === 'application/at+jwt'
}

function parsePart(part: string): JsonObject {
  return parseJson(decodePart(part), 'malformed')
}

function parseJson(bytes: Buffer, reason: BearerErrorReason): JsonObject {
  try {
    return parseStrictJson(bytes)
  } catch (cause) {
    throw invalidToken(reason, cause)
  }
}

/** Base64url without padding, whitespace, foreign characters or stray bits: only what encodes back to itself. */
function decodePart(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part) throw invalidToken('malformed')
  return bytes
}
