import type { BearerError } from '../core/bearer-error.ts'

/** The attributes of a challenge that do not depend on the error. */
export interface ChallengeOptions {
  /** The name of the protection space (RFC 9110 §11.5). Required: RFC 6750 §3 demands at least one attribute. */
  readonly realm: string
  /** URL of the protected resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string
}

/**
 * The value of the `WWW-Authenticate` header of a refused request (RFC 6750 §3); undefined for `unavailable`, which is
 * not a matter of credentials. A request without credentials gets no `error` attribute (§3.1). One whose user must sign in
 * again gets what that sign-in must be, `acr_values` and `max_age` (RFC 9470 §3).
 *
 * @example
 * ```ts
 * wwwAuthenticate(new BearerError('invalid_token', 'expired'), { realm: 'api' })
 * // Bearer realm="api", error="invalid_token", error_description="The access token expired"
 * ```
 */
export function wwwAuthenticate(error: BearerError, options: ChallengeOptions): string | undefined {
  if (error.code === 'unavailable') return undefined
  const attributes = [`realm=${quote(options.realm)}`]
  if (error.code !== 'missing_token') {
    attributes.push(`error=${quote(error.code)}`, `error_description=${quote(error.message.replaceAll('"', "'"))}`)
  }
  if (error.requiredScope) attributes.push(`scope=${quote(error.requiredScope)}`)
  if (error.acrValues) attributes.push(`acr_values=${quote(error.acrValues.join(' '))}`)
  if (error.maxAge !== undefined) attributes.push(`max_age=${quote(String(error.maxAge))}`)
  if (options.resourceMetadata) attributes.push(`resource_metadata=${quote(options.resourceMetadata)}`)
  return `Bearer ${attributes.join(', ')}`
}

/** A quoted string (RFC 9110 §5.6.4). Characters that a header cannot contain are dropped. */
function quote(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, '\\$&')}"`
}
