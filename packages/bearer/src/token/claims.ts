import { invalidToken } from '../core/bearer-error.ts'
import type { JsonObject } from '../core/strict-json.ts'

/** What the claims of an accepted token must be. */
export interface ExpectedClaims {
  readonly issuer: string
  /** `aud` must contain at least one of these. */
  readonly audiences: readonly string[]
  readonly clockSkewMs: number
}

/** When a token may be used; Unix milliseconds, clock skew included. */
export interface Validity {
  readonly validFrom: number
  /** The first moment at which it is expired. */
  readonly validUntil: number
}

/**
 * Checks issuer and audience and reads the times (RFC 7519 §4.1, RFC 9068 §4). `checkTimes` compares the times at every
 * use of a cached token. `expiresAt` is `exp` without clock skew.
 *
 * @throws BearerError `invalid_token`
 */
export function checkClaims(claims: JsonObject, expected: ExpectedClaims): Validity & { readonly expiresAt: number } {
  if (claims.iss !== expected.issuer) throw invalidToken('issuer')
  if (!namesAudience(claims.aud, expected.audiences)) throw invalidToken('audience')
  // A bearer header has no proof of possession (RFC 8705 §3, RFC 9449 §7.1).
  if (claims.cnf !== undefined) throw invalidToken('sender_constrained')
  const expiresAt = milliseconds(claims.exp)
  const notBefore = claims.nbf === undefined ? Number.NEGATIVE_INFINITY : milliseconds(claims.nbf)
  return { validFrom: notBefore - expected.clockSkewMs, validUntil: expiresAt + expected.clockSkewMs, expiresAt }
}

/** @throws BearerError `invalid_token` */
export function checkTimes(validity: Validity, now: number): void {
  if (now >= validity.validUntil) throw invalidToken('expired')
  if (now < validity.validFrom) throw invalidToken('not_yet_valid')
}

function namesAudience(aud: unknown, audiences: readonly string[]): boolean {
  if (typeof aud === 'string') return audiences.includes(aud)
  return Array.isArray(aud) && aud.some((one) => audiences.includes(one))
}

function milliseconds(seconds: unknown): number {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) throw invalidToken('claims')
  return seconds * 1000
}
