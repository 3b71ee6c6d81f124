/**
 * Why a request is refused: a closed set. `invalid_request`, `invalid_token` and `insufficient_scope` are error codes of
 * RFC 6750 §3.1, `insufficient_user_authentication` is that of RFC 9470 §3; `missing_token` (no credentials) and `unavailable` (no keys, or no answer from the issuer) are ours.
 */
export type BearerErrorCode =
  | 'missing_token'
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'insufficient_user_authentication'
  | 'unavailable'

const statuses = {
  missing_token: 401,
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  insufficient_user_authentication: 401,
  unavailable: 503,
} as const satisfies Record<BearerErrorCode, number>

const descriptions = {
  missing: 'An access token is required',
  repeated: 'The Authorization header must be sent once',
  syntax: 'The Authorization header must be "Bearer", one space and the access token',
  malformed: 'The access token is malformed',
  too_long: 'The access token is too long',
  header: 'The access token has a header member that is not accepted',
  type: 'The token is not an access token: its type (typ) is not accepted',
  algorithm: 'The access token is signed with an algorithm that is not accepted',
  unknown_key: 'The access token is signed with an unknown key',
  signature: 'The signature of the access token is not valid',
  claims: 'The access token has a missing or invalid claim',
  issuer: 'The access token has another issuer',
  audience: 'The access token has another audience',
  expired: 'The access token expired',
  not_yet_valid: 'The access token is not valid yet',
  sender_constrained: 'The access token is bound to a key and is not accepted as a bearer token',
  revoked: 'The access token was revoked',
  inactive: 'The access token is not active',
  scope: 'The access token does not have a required scope',
  no_user: 'The credential is that of a client, and a signed-in user is required',
  acr: 'The user must sign in with a stronger method',
  auth_time: 'The user must sign in again: the last sign-in was too long ago, or its time is unknown',
  keys: 'The keys of the token issuer cannot be reached',
  introspection: 'The token issuer cannot be reached',
} as const

/** The exact reason: one word for logs and metrics, a closed set. */
export type BearerErrorReason = keyof typeof descriptions

/** Details of a {@link BearerError}. */
export interface BearerErrorDetails {
  /** The underlying error. For operators only. */
  readonly cause?: unknown
  /** The scopes that the endpoint needs, space-separated; sent to the client in the challenge (RFC 6750 §3). */
  readonly requiredScope?: string
  /** The classes of sign-in, one of which the endpoint needs; sent in the challenge (RFC 9470 §3). */
  readonly acrValues?: readonly string[] | undefined
  /** The maximum age of the sign-in that the endpoint needs, in seconds; sent in the challenge (RFC 9470 §3). */
  readonly maxAge?: number | undefined
  /** Seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number
}

/**
 * A refused request. `message` contains no part of the token and may be shown to the client.
 *
 * @example
 * ```ts
 * if (error instanceof BearerError) {
 *   const challenge = wwwAuthenticate(error, { realm: 'api' })
 *   response.writeHead(error.status, challenge ? { 'www-authenticate': challenge } : {}).end(error.message)
 * }
 * ```
 */
export class BearerError extends Error {
  override readonly name = 'BearerError'
  /** The class of refusal, which decides the status. */
  readonly code: BearerErrorCode
  /** The exact reason, for logs and metrics. */
  readonly reason: BearerErrorReason
  /** The HTTP status of the code: 400, 401, 403 or 503. */
  readonly status: (typeof statuses)[BearerErrorCode]
  /** The scopes that the endpoint needs, space-separated; for `insufficient_scope`. */
  readonly requiredScope: string | undefined
  /** The classes of sign-in, one of which the endpoint needs; for `insufficient_user_authentication`. */
  readonly acrValues: readonly string[] | undefined
  /** The maximum age of the sign-in in seconds; for `insufficient_user_authentication`. */
  readonly maxAge: number | undefined
  /** Seconds after which a retry may succeed; for `unavailable`. */
  readonly retryAfterSeconds: number | undefined

  /**
   * @param code decides the status
   * @param reason decides the message
   */
  constructor(code: BearerErrorCode, reason: BearerErrorReason, details: BearerErrorDetails = {}) {
    super(messageOf(reason, details), details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.reason = reason
    this.status = statuses[code]
    this.requiredScope = details.requiredScope
    this.acrValues = details.acrValues
    this.maxAge = details.maxAge
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

function messageOf(reason: BearerErrorReason, { requiredScope }: BearerErrorDetails): string {
  return reason === 'scope' && requiredScope !== undefined
    ? `${descriptions.scope}: ${requiredScope}`
    : descriptions[reason]
}

/** The error of a token that is refused with 401 `invalid_token`. */
export function invalidToken(reason: BearerErrorReason): BearerError {
  return new BearerError('invalid_token', reason)
}
