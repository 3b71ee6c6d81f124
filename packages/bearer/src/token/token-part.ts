import { type BearerErrorReason, invalidToken } from '../core/bearer-error.ts'
import { type JsonObject, parseStrictJson } from '../core/strict-json.ts'

/**
 * Base64url without padding, whitespace, foreign characters or stray bits: only what encodes back to itself.
 *
 * @throws BearerError `invalid_token`
 */
export function decodePart(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part) throw invalidToken('malformed')
  return bytes
}

/** @throws BearerError `invalid_token` with the given reason when the bytes are not one clean JSON object */
export function parseJsonPart(bytes: Buffer, reason: BearerErrorReason): JsonObject {
  try {
    return parseStrictJson(bytes)
  } catch {
    // The parser's own error quotes what it read, so it goes no further.
    throw invalidToken(reason)
  }
}
