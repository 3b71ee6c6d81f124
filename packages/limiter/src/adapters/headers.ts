import type { Decision, RuleDecision } from '../decision.ts'

/** IETF fields to send beside X-RateLimit-*: none, or those of draft-ietf-httpapi-ratelimit-headers-11. */
export type IetfFields = false | 'draft-11'

/** Options of {@link decisionHeaders}. */
export interface HeaderOptions {
  /** Whether to send the fields of the IETF draft too. Default false. */
  readonly ietf?: IetfFields
}

/**
 * Returns the response headers of a decision: X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset (Unix seconds of
 * the next window), Retry-After (seconds, RFC 9110 §10.2.3) only when rejected, and as an option RateLimit-Policy and
 * RateLimit. Shadow rules, and units granted beyond a limit, are left out; a policy with shadow rules alone has no headers.
 *
 * @example
 * const decision = await limiter.check(policy, identifier)
 * response.writeHead(decision.allowed ? 200 : 429, decisionHeaders(decision))
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

/** Both fields are lists of strings with parameters (RFC 9651 §3.1): q quota, w window in seconds; r available, t seconds. */
function ietfFields(decision: Decision): Record<string, string> {
  const rules = decision.rules.filter((rule) => !rule.shadow)
  return {
    'RateLimit-Policy': rules
      .map((rule) => `${quoteString(rule.name)};q=${rule.limit};w=${Math.ceil(rule.windowMs / 1000)}`)
      .join(','),
    RateLimit: rules
      .map(
        (rule) =>
          `${quoteString(rule.name)};r=${Math.min(rule.limit, rule.remaining)};t=${resetSeconds(rule, decision)}`,
      )
      .join(','),
  }
}

/** A delay, not a timestamp; for a violated rule the same number as Retry-After. */
function resetSeconds(rule: RuleDecision, decision: Decision): number {
  if (!rule.allowed) return rule.retryAfterSeconds
  return Math.max(0, Math.ceil((rule.resetAt - decision.now) / 1000))
}

/** A string (RFC 9651 §3.3.3): printable ASCII, quotes and backslashes escaped. */
function quoteString(name: string): string {
  return `"${name.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
