import type {
  ApiError,
  AuthenticationError,
  ConflictError,
  NotFoundError,
  PermissionError,
  PreconditionFailedError,
  RateLimitError,
  ServiceUnavailableError,
  StepUpRequiredError,
  ValidationError,
} from './api-error.ts'
import {
  type ConnectionError,
  type ErrorCode,
  type GatehouseError,
  isBranded,
  type OAuthError,
  type SignatureError,
  type TimeoutError,
} from './gatehouse-error.ts'

/** The class of each code. */
export interface ErrorOfCode extends Record<ErrorCode, GatehouseError> {
  validation_failed: ValidationError
  unauthenticated: AuthenticationError
  step_up_required: StepUpRequiredError
  permission_denied: PermissionError
  not_found: NotFoundError
  conflict: ConflictError
  precondition_failed: PreconditionFailedError
  rate_limited: RateLimitError
  unavailable: ServiceUnavailableError
  request_failed: ApiError
  server_failed: ApiError
  oauth_failed: OAuthError
  connection_failed: ConnectionError
  redirected: ConnectionError
  timeout: TimeoutError
  signature_invalid: SignatureError
}

/**
 * Whether a value is an error of this client, of one code if one is named. Unlike `instanceof` it also knows the errors
 * of another copy of this package.
 *
 * @example
 * ```ts
 * if (isGatehouseError(error, 'rate_limited')) await pause(error.retryAfterSeconds)
 * ```
 */
export function isGatehouseError<Code extends ErrorCode>(error: unknown, code?: Code): error is ErrorOfCode[Code] {
  return isBranded(error) && (code === undefined || error.code === code)
}
