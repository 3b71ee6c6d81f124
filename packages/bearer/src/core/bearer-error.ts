/** The closed set of answers a bearer check can refuse with. The first four are RFC 6750 §3's; the last is ours. */
export type BearerErrorCode =
  | 'missing_token'
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'unavailable'

const statuses = {
  missing_token: 401,
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  unavailable: 503,
} as const satisfies Record<BearerErrorCode, number>

const descriptions = {
  missing: 'An access token is required',
  repeated: 'The Authorization header must be sent once',
  syntax: 'The Authorization header must be "Bearer", one space and the access token',
  malformed: 'The access token is malformed',
  too_long: 'The access token is too long',
  header: 'The access token has a header member that is not accepted',
  type: 'The token is not an access token; its type (typ) is not one that is accepted here',
  algorithm: 'The access token is signed with an algorithm that is not accepted',
  unknown_key: 'The access token is signed with an unknown key',
  signature: 'The signature of the access token is not valid',
  claims: 'The access token lacks a claim or has one of the wrong type',
  issuer: 'The access token was issued by someone else',
  audience: 'The access token is meant for another service',
  expired: 'The access token expired',
  not_yet_valid: 'The access token is not valid yet',
  sender_constrained: 'The access token is bound to a key and is not accepted as a bearer token',
  revoked: 'The access token was revoked',
  inactive: 'The access token is not active',
  scope: 'The access token lacks a scope that is needed here',
  keys: 'The keys of the token issuer cannot be reached',
  introspection: 'The token issuer cannot be reached',
} as const

/** Why exactly: one word for logs and metrics, a closed set. */
export type BearerErrorReason = keyof typeof descriptions

export interface BearerErrorDetails {
  /** What only the operator may see. */
  readonly cause?: unknown
  /** The scopes that the endpoint needs, space-separated; told to the client (RFC 6750 §3.1). */
  readonly requiredScope?: string
  readonly retryAfterSeconds?: number
}

/** A refused request. `message` holds no part of the token and may be shown to the client. */
export class BearerError extends Error {
  override readonly name = 'BearerError'
  readonly code: BearerErrorCode
  readonly reason: BearerErrorReason
  /** The HTTP status that goes with the code. */
  readonly status: (typeof statuses)[BearerErrorCode]
  readonly requiredScope: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: BearerErrorCode, reason: BearerErrorReason, details: BearerErrorDetails = {}) {
    super(descriptions[reason], details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.reason = reason
    this.status = statuses[code]
    this.requiredScope = details.requiredScope
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

/** A token that is refused with 401 `invalid_token`. */
export function invalidToken(reason: BearerErrorReason): BearerError {
  return new BearerError('invalid_token', reason)
}
