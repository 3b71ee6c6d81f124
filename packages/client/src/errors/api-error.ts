import { type ErrorCode, GatehouseError } from './gatehouse-error.ts'

/** One fault of a request. */
export interface Fault {
  /** Where it is: a JSON pointer (RFC 6901). */
  readonly pointer: string
  /** What was expected there. */
  readonly detail: string
}

/** Problem details (RFC 9457), as the APIs write them. */
export interface ProblemDetails {
  readonly type?: string
  readonly title?: string
  readonly status?: number
  readonly detail?: string
  readonly errors?: readonly Fault[]
  readonly 'violated-policies'?: readonly string[]
  readonly request_id?: string
  readonly [member: string]: unknown
}

/** What an {@link ApiError} is made of. */
export interface Refusal {
  readonly status: number
  readonly problem: ProblemDetails
  /** The parameters of `WWW-Authenticate` (RFC 9110 §11.6.1). */
  readonly challenge: Readonly<Record<string, string>>
  readonly requestId: string | undefined
  /** Milliseconds to wait, when the answer said so. */
  readonly retryAfterMs: number | undefined
}

/** Statuses after which the same request may succeed. */
const transient: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

/** An answer that is not 2xx. */
export class ApiError extends GatehouseError {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly problem: ProblemDetails
  /** Seconds to wait before the next attempt, when the answer said so. */
  readonly retryAfterSeconds: number | undefined

  constructor(refusal: Refusal, code: ErrorCode) {
    const { status, problem, requestId, retryAfterMs } = refusal
    super(problem.detail ?? problem.title ?? `the server answered ${status}`, {
      code,
      retryable: transient.has(status),
      requestId,
    })
    this.status = status
    this.problem = problem
    this.retryAfterSeconds = retryAfterMs === undefined ? undefined : retryAfterMs / 1_000
  }
}

/** How long an error says to wait, in milliseconds; 0 when it does not say. */
export function retryAfterOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
}

/** 400 and 422: the request is malformed, or names what does not exist. */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError'
  /** Every fault of the request. */
  readonly faults: readonly Fault[]

  constructor(refusal: Refusal) {
    super(refusal, 'validation_failed')
    this.faults = refusal.problem.errors ?? []
  }
}

/** 401: the credential is missing, invalid or expired. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError'

  constructor(refusal: Refusal) {
    super(refusal, 'unauthenticated')
  }
}

/** 401 `insufficient_user_authentication` (RFC 9470): the user has to sign in again. */
export class StepUpRequiredError extends ApiError {
  override readonly name = 'StepUpRequiredError'
  /** How long ago the sign-in may be. */
  readonly maxAgeSeconds: number | undefined
  /** The classes of sign-in, one of which is required. */
  readonly acrValues: readonly string[]

  constructor(refusal: Refusal) {
    super(refusal, 'step_up_required')
    const { max_age: maxAge, acr_values: acrValues } = refusal.challenge
    this.maxAgeSeconds = maxAge === undefined ? undefined : Number(maxAge)
    this.acrValues = acrValues?.split(' ') ?? []
  }
}

/** 403: the credential lacks a scope or a role. */
export class PermissionError extends ApiError {
  override readonly name = 'PermissionError'
  /** The scope that is required, when the answer says so. */
  readonly scope: string | undefined

  constructor(refusal: Refusal) {
    super(refusal, 'permission_denied')
    this.scope = refusal.challenge.scope
  }
}

/** 404 and 410: there is no such resource, or no longer. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'

  constructor(refusal: Refusal) {
    super(refusal, 'not_found')
  }
}

/** 409: the resource exists already, or was changed meanwhile. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError'

  constructor(refusal: Refusal) {
    super(refusal, 'conflict')
  }
}

/** 412: the resource is no longer the version of `ifMatch`. */
export class PreconditionFailedError extends ApiError {
  override readonly name = 'PreconditionFailedError'

  constructor(refusal: Refusal) {
    super(refusal, 'precondition_failed')
  }
}

/** 429: a limit was exceeded. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError'
  /** The limits that were exceeded. */
  readonly policies: readonly string[]

  constructor(refusal: Refusal) {
    super(refusal, 'rate_limited')
    this.policies = refusal.problem['violated-policies'] ?? []
  }
}

/** 502, 503 and 504: the service, or what it needs, does not answer. */
export class ServiceUnavailableError extends ApiError {
  override readonly name = 'ServiceUnavailableError'

  constructor(refusal: Refusal) {
    super(refusal, 'unavailable')
  }
}

const classes: Readonly<Record<number, new (refusal: Refusal) => ApiError>> = {
  400: ValidationError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  410: NotFoundError,
  412: PreconditionFailedError,
  422: ValidationError,
  429: RateLimitError,
  502: ServiceUnavailableError,
  503: ServiceUnavailableError,
  504: ServiceUnavailableError,
}

/** The error of an answer. */
export function createApiError(refusal: Refusal): ApiError {
  const { status, challenge } = refusal
  if (status === 401 && challenge.error === 'insufficient_user_authentication') return new StepUpRequiredError(refusal)
  const Known = classes[status]
  return Known ? new Known(refusal) : new ApiError(refusal, status < 500 ? 'request_failed' : 'server_failed')
}
