/** Every error code of this server, with its HTTP status outside of redirects. */
const statuses = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  access_denied: 400,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  unmet_authentication_requirements: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  server_error: 500,
  temporarily_unavailable: 503,
} as const

/** An error code of RFC 6749 §5.2, its extensions or OpenID Connect. */
export type OAuthErrorCode = keyof typeof statuses

/** What an {@link OAuthError} carries beside its code and description. */
export interface OAuthErrorOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Overrides the HTTP status of the code. */
  readonly status?: number
  /** Logged for the operator, never sent. */
  readonly cause?: unknown
}

/** An error response of RFC 6749 §5.2 and its extensions. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthErrorCode
  readonly headers: Readonly<Record<string, string>>
  readonly status: number

  constructor(code: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(description, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.headers = options.headers ?? {}
    this.status = options.status ?? statuses[code]
  }

  /** The JSON body (RFC 6749 §5.2), its text kept to the characters that section allows. */
  body(): { error: string; error_description: string } {
    return { error: this.code, error_description: printable(this.message) }
  }
}

/** `text` with every character that RFC 6749 §5.2 does not allow in a description replaced. */
export function printable(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^\x20-\x7e]/g, '?')
}
