import { invalidToken } from './bearer-error.ts'
import { type Caller, callerOf } from './caller.ts'
import { checkClaims, type Expectation, type Validity } from './claims.ts'
import type { CompactToken } from './compact.ts'
import type { VerificationKey } from './key-set.ts'
import { parseJson } from './token-part.ts'

/** A token whose signature, issuer and audience are in order. Times are for whoever uses it to compare. */
export interface VerifiedToken extends Validity {
  readonly caller: Caller
}

/**
 * The signature first, then what the token says (RFC 8725 §3.3): nothing of an unsigned payload is even parsed.
 *
 * @throws BearerError `invalid_token`
 */
export function verifyToken(token: CompactToken, key: VerificationKey, expected: Expectation): VerifiedToken {
  if (!key.verify(token.signedBytes, token.signature)) throw invalidToken('signature')
  const claims = parseJson(token.payload, 'claims')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), validFrom, validUntil }
}
