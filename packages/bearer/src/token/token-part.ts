import { type BearerErrorReason, invalidToken } from '../core/bearer-error.ts'
import { type JsonObject, parseStrictJson } from '../core/strict-json.ts'

/**
 * Decodes base64url without padding, whitespace, foreign characters or stray bits: only what encodes back to itself.
 *
 * @throws BearerError `invalid_token`
 */
export function decodePart(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part) throw invalidToken('malformed')
  return bytes
}

/** Parses strict JSON. @throws BearerError `invalid_token` with the reason when the bytes are not one JSON object */
export function parseJsonPart(bytes: Buffer, reason: BearerErrorReason): JsonObject {
  try {
    return parseStrictJson(bytes)
  } catch {
    // The parser's error quotes its input, so it is dropped.
    throw invalidToken(reason)
  }
}
