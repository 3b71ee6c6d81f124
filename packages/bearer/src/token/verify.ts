import { invalidToken } from '../core/bearer-error.ts'
import { type Caller, callerOf } from '../core/caller.ts'
import type { JsonObject } from '../core/strict-json.ts'
import { checkClaims, type ExpectedClaims, type Validity } from './claims.ts'
import type { CompactToken } from './compact.ts'
import { parseJsonPart } from './token-part.ts'

/** A key that verifies signatures of one algorithm. */
export interface SignatureKey {
  readonly kid: string | undefined
  verify(data: Buffer, signature: Buffer): boolean
}

/** A token with a valid signature, issuer and audience. Its times are compared at each use. */
export interface VerifiedToken extends Validity {
  readonly caller: Caller
  /** The `kid` of the key that signed it; undefined for an opaque token. */
  readonly keyId: string | undefined
}

/**
 * Verifies the signature, then the claims (RFC 8725 §3.3): no part of an unsigned payload is parsed.
 *
 * @throws BearerError `invalid_token`
 */
export function verifyToken(token: CompactToken, key: SignatureKey, expected: ExpectedClaims): VerifiedToken {
  if (!key.verify(token.signedBytes, token.signature)) throw invalidToken('signature')
  const claims = parseJsonPart(token.payload, 'claims')
  if (token.header.type === 'JWT' && isOtherToken(claims)) throw invalidToken('type')
  const { expiresAt, validFrom, validUntil } = checkClaims(claims, expected)
  return { caller: callerOf(claims, expiresAt), keyId: key.kid, validFrom, validUntil }
}

/** Claims of ID tokens (OpenID Connect Core §2) and logout tokens (Back-Channel Logout §2.4) only. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 'events']

/** The type `JWT` says little, so the claims decide: an ID token is not an access token. */
function isOtherToken(claims: JsonObject): boolean {
  return foreignClaims.some((name) => Object.hasOwn(claims, name))
}
