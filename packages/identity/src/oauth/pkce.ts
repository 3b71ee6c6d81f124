import { createHash } from 'node:crypto'
import { constantTimeEqual } from '@gatehouse/kit'
import { OAuthError } from './error.ts'

const verifier = /^[A-Za-z0-9\-._~]{43,128}$/
const challenge = /^[A-Za-z0-9\-_]{43}$/

/**
 * Validates the PKCE parameters of an authorization request (RFC 7636 §4.3). Without a method `S256` is meant, the only
 * one supported.
 * @throws OAuthError `invalid_request`
 */
export function checkChallenge(codeChallenge: string | undefined, method: string | undefined): string | undefined {
  if (method !== undefined && method !== 'S256') {
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256; plain is not supported')
  }
  if (codeChallenge === undefined) {
    if (method === undefined) return undefined
    throw new OAuthError('invalid_request', 'code_challenge_method requires code_challenge')
  }
  if (!challenge.test(codeChallenge)) {
    throw new OAuthError(
      'invalid_request',
      'code_challenge must be the base64url SHA-256 hash of the code_verifier: 43 characters',
    )
  }
  return codeChallenge
}

/** Whether `codeVerifier` matches `codeChallenge` (RFC 7636 §4.6). One without the other never matches. */
export function matchesChallenge(codeVerifier: string | undefined, codeChallenge: string | undefined): boolean {
  if (codeChallenge === undefined || codeVerifier === undefined) return codeChallenge === codeVerifier
  if (!verifier.test(codeVerifier)) return false
  return constantTimeEqual(createHash('sha256').update(codeVerifier).digest('base64url'), codeChallenge)
}
