import type { BearerError } from '../core/bearer-error.ts'

export interface ChallengeOptions {
  /** Name of the protected space; RFC 6750 §3 asks for at least one attribute, so it is not optional here. */
  readonly realm: string
  /** Address of the protected resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string
}

/**
 * The value of the `WWW-Authenticate` header for a refused request (RFC 6750 §3), or undefined where none belongs:
 * a 503 is not a matter of credentials. Without credentials in the request no `error` is told (§3.1).
 */
export function wwwAuthenticate(error: BearerError, options: ChallengeOptions): string | undefined {
  if (error.code === 'unavailable') return undefined
  const attributes = [`realm=${quote(options.realm)}`]
  if (error.code !== 'missing_token') {
    attributes.push(`error=${quote(error.code)}`, `error_description=${quote(error.message.replaceAll('"', "'"))}`)
  }
  if (error.requiredScope) attributes.push(`scope=${quote(error.requiredScope)}`)
  if (options.resourceMetadata) attributes.push(`resource_metadata=${quote(options.resourceMetadata)}`)
  return `Bearer ${attributes.join(', ')}`
}

/** RFC 9110 §5.6.4. What cannot stand in a header at all is dropped. */
function quote(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, '\\$&')}"`
}
