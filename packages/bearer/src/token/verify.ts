import { invalidToken } from '../core/bearer-error.ts'
import { type Caller, callerOf } from '../core/caller.ts'
import type { JsonObject } from '../core/strict-json.ts'
import type { VerificationKey } from '../keys/key-set.ts'
import { checkClaims, type ExpectedClaims, type Validity } from './claims.ts'
import type { CompactToken } from './compact.ts'
import { parseJsonPart } from './token-part.ts'

/** A token whose signature, issuer and audience are in order. Times are for whoever uses it to compare. */
export interface VerifiedToken extends Validity {
  readonly caller: Caller
  /** The `kid` of the key that signed it; undefined for what no key of the issuer's signed. */
  readonly keyId: string | undefined
}

/**
 * The signature first, then what the token says (RFC 8725 §3.3): nothing of an unsigned payload is even parsed.
 *
 * @throws BearerError `invalid_token`
 */
export function verifyToken(token: CompactToken, key: VerificationKey, expected: ExpectedClaims): VerifiedToken {
  if (!key.verify(token.signedBytes, token.signature)) throw invalidToken('signature')
  const claims = parseJsonPart(token.payload, 'claims')
  if (token.header.type === 'JWT' && isOtherToken(claims)) throw invalidToken('type')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), keyId: key.kid, validFrom, validUntil }
}

/** Claims that ID tokens and logout tokens have and access tokens do not (OpenID Connect Core §2, Back-Channel Logout §2.4). */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 'events']

/** Where the type does not tell, the claims must: an ID token is no access token. */
function isOtherToken(claims: JsonObject): boolean {
  return foreignClaims.some((name) => Object.hasOwn(claims, name))
}
