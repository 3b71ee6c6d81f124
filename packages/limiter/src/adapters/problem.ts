import type { Decision } from '../decision.ts'

/** Body of a 429 response: problem details (RFC 9457), media type application/problem+json. */
export interface QuotaExceededProblem {
  /** Registered problem type. */
  readonly type: 'https://iana.org/assignments/http-problem-types#quota-exceeded'
  /** A sentence for people. */
  readonly title: string
  /** HTTP status. */
  readonly status: 429
  /** Names of the rules that were violated. */
  readonly 'violated-policies': readonly string[]
}

/**
 * Creates the problem details of a rejected decision.
 *
 * @example
 * response.end(JSON.stringify(quotaExceededProblem(decision)))
 */
export function quotaExceededProblem(decision: Decision): QuotaExceededProblem {
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    'violated-policies': decision.rules.filter((rule) => !rule.allowed && !rule.shadow).map((rule) => rule.name),
  }
}
