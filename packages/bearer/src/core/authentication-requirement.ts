import { BearerError, type BearerErrorReason } from './bearer-error.ts'
import type { Caller } from './caller.ts'

/** How the user of a token must have signed in (RFC 9470). */
export interface AuthenticationRequirement {
  /**
   * Required class of the sign-in (`acr`), or several, one of which is enough. A class of the server's `acrOrder` is
   * also met by every stronger one; any other must be the token's own.
   */
  readonly requireAcr?: string | readonly string[] | undefined
  /** Maximum age of the sign-in (`auth_time`) in seconds, a whole number of at least 1. */
  readonly maxAge?: number | undefined
}

/** What a requirement is compared by. */
export interface AuthenticationRules {
  /** Classes from the weakest to the strongest. */
  readonly acrOrder: readonly string[]
  readonly clockSkewMs: number
}

/** What a caller's credential says about the sign-in. */
export type SignIn = Pick<Caller, 'kind' | 'acr' | 'authTime'>

/** The classes that Gatehouse issues, from the weakest to the strongest. */
export const gatehouseAcrOrder: readonly string[] = Object.freeze([
  'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
  'urn:gatehouse:acr:mfa',
  'phr',
  'phrh',
])

/** Characters of an `acr` value: it is sent in a space-separated, quoted list (RFC 9470 §3). */
const acrPattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** Whether a value can be named in `acr_values`. */
export function isAcrValue(value: unknown): value is string {
  return typeof value === 'string' && acrPattern.test(value)
}

/**
 * Checks the sign-in behind a token. The age is compared at every use, so it must not be cached.
 *
 * @param now Unix milliseconds
 * @throws BearerError `insufficient_user_authentication` (RFC 9470 §3)
 * @throws TypeError naming the invalid member of the requirement and what was expected
 */
export function checkSignIn(
  signIn: SignIn,
  requirement: AuthenticationRequirement,
  rules: AuthenticationRules,
  now: number,
): void {
  const { requireAcr, maxAge } = requirement
  if (requireAcr === undefined && maxAge === undefined) return
  const accepted = acceptedAcrs(requireAcr)
  if (maxAge !== undefined && !(Number.isSafeInteger(maxAge) && maxAge >= 1))
    throw new TypeError('maxAge must be a whole number of seconds of at least 1')
  const refuse = (reason: BearerErrorReason) =>
    new BearerError('insufficient_user_authentication', reason, { acrValues: accepted, maxAge })
  if (signIn.kind === 'client') throw refuse('no_user')
  if (accepted !== undefined && !accepted.some((acr) => meetsAcr(signIn.acr, acr, rules.acrOrder))) throw refuse('acr')
  if (maxAge !== undefined && !isRecent(signIn.authTime, maxAge * 1000, rules.clockSkewMs, now))
    throw refuse('auth_time')
}

function acceptedAcrs(requireAcr: string | readonly string[] | undefined): readonly string[] | undefined {
  if (requireAcr === undefined) return undefined
  const accepted = typeof requireAcr === 'string' ? [requireAcr] : requireAcr
  if (accepted.length > 0 && accepted.every(isAcrValue)) return accepted
  throw new TypeError('requireAcr must be one or more acr values: printable ASCII without spaces, " and \\')
}

function meetsAcr(actual: string | undefined, required: string, order: readonly string[]): boolean {
  if (actual === undefined) return false
  if (actual === required) return true
  const rank = order.indexOf(required)
  return rank >= 0 && order.indexOf(actual) > rank
}

/** A sign-in of the future proves nothing: its token would never grow too old. */
function isRecent(authTime: number | undefined, maxAgeMs: number, skewMs: number, now: number): boolean {
  if (authTime === undefined) return false
  const ageMs = now - authTime
  return ageMs <= maxAgeMs + skewMs && ageMs >= -skewMs
}
