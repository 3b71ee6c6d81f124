/** What went wrong: a closed set, the same in every version. */
export type ErrorCode =
  | 'validation_failed'
  | 'unauthenticated'
  | 'step_up_required'
  | 'permission_denied'
  | 'not_found'
  | 'conflict'
  | 'precondition_failed'
  | 'rate_limited'
  | 'unavailable'
  | 'request_failed'
  | 'server_failed'
  | 'oauth_failed'
  | 'connection_failed'
  | 'redirected'
  | 'invalid_response'
  | 'timeout'
  | 'signature_invalid'

/** Members of a {@link GatehouseError} beside its message. */
export interface GatehouseErrorOptions {
  readonly code: ErrorCode
  /** Default: false. */
  readonly retryable?: boolean
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

const brand = Symbol.for('gatehouse.error')

/** Every error of this client; an aborted call rejects with the reason of its signal instead. */
export class GatehouseError extends Error {
  override readonly name: string = 'GatehouseError'
  readonly code: ErrorCode
  /** The id under which the log of the server has this request. */
  readonly requestId: string | undefined
  /** Whether the same call may succeed later, unchanged. */
  readonly retryable: boolean

  constructor(message: string, { code, retryable = false, requestId, cause }: GatehouseErrorOptions) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = retryable
    this.requestId = requestId
    Object.defineProperty(this, brand, { value: true })
  }
}

/** No answer: the connection failed, or broke while the answer was read. */
export class ConnectionError extends GatehouseError {
  override readonly name = 'ConnectionError'
}

/** No answer in time. */
export class TimeoutError extends GatehouseError {
  override readonly name = 'TimeoutError'
}

/** A webhook that is not genuine. */
export class SignatureError extends GatehouseError {
  override readonly name = 'SignatureError'
}

/** The authorization server refused to issue a token (RFC 6749 §5.2). */
export class OAuthError extends GatehouseError {
  override readonly name = 'OAuthError'
  /** The error code of the RFC, such as `invalid_client` or `invalid_grant`. */
  readonly error: string

  constructor(error: string, description: string | undefined) {
    super(`the authorization server answered ${error}${description ? `: ${description}` : ''}`, {
      code: 'oauth_failed',
    })
    this.error = error
  }
}

const noAnswerCodes: ReadonlySet<string> = new Set(['timeout', 'connection_failed', 'unavailable'])

/** Whether there was no answer but perhaps that of a proxy, so that the request may have been carried out. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof GatehouseError && noAnswerCodes.has(error.code)
}

/** Whether a value is an error of this client, of another copy of this package too. */
export function isBranded(error: unknown): error is GatehouseError {
  return error instanceof Error && brand in error
}
