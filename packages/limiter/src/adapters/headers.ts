import type { Decision, RuleDecision } from '../decision.ts'

/** Which IETF fields to send beside the X-RateLimit trio: none, or those of draft-ietf-httpapi-ratelimit-headers-11. */
export type IetfFields = false | 'draft-11'

export interface HeaderOptions {
  /** Default: false. */
  readonly ietf?: IetfFields
}

/**
 * The response headers of a decision: X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset (Unix seconds of the
 * next window), Retry-After (seconds) only when rejected, and on demand RateLimit-Policy and RateLimit. Rules in shadow
 * are not told, nor is what was granted beyond a limit; a policy that is all shadow has no headers.
 */
export function decisionHeaders(decision: Decision, options: HeaderOptions = {}): Record<string, string> {
  if (decision.policy.rules.every((rule) => rule.shadow)) return {}
  const headers: Record<string, string> = {
    'X-RateLimit-Limit': String(decision.limit),
    'X-RateLimit-Remaining': String(Math.min(decision.limit, decision.remaining)),
    'X-RateLimit-Reset': String(Math.ceil(decision.resetAt / 1000)),
  }
  if (!decision.allowed) headers['Retry-After'] = String(decision.retryAfterSeconds)
  if (options.ietf === 'draft-11') Object.assign(headers, ietfFields(decision))
  return headers
}

/** Both fields are RFC 9651 lists of strings with parameters: q quota, w window in seconds; r available, t seconds. */
function ietfFields(decision: Decision): Record<string, string> {
  const rules = decision.rules.filter((rule) => !rule.shadow)
  return {
    'RateLimit-Policy': rules
      .map((rule) => `${quoteString(rule.name)};q=${rule.limit};w=${Math.ceil(rule.windowMs / 1000)}`)
      .join(','),
    RateLimit: rules
      .map(
        (rule) =>
          `${quoteString(rule.name)};r=${Math.min(rule.limit, rule.remaining)};t=${effectiveSeconds(rule, decision)}`,
      )
      .join(','),
  }
}

/** A delay, never a timestamp; for a violated rule the same number as Retry-After, so that the two never disagree. */
function effectiveSeconds(rule: RuleDecision, decision: Decision): number {
  if (!rule.allowed) return rule.retryAfterSeconds
  return Math.max(0, Math.ceil((rule.resetAt - decision.now) / 1000))
}

/** An RFC 9651 string: printable ASCII, quotes and backslashes escaped. */
function quoteString(name: string): string {
  return `"${name.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
