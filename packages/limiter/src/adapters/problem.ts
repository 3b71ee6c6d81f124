import type { Decision } from '../decision.ts'

/** Body of a 429 answer as RFC 9457 problem details, media type application/problem+json. */
export interface QuotaExceededProblem {
  readonly type: 'https://iana.org/assignments/http-problem-types#quota-exceeded'
  readonly title: string
  readonly status: 429
  /** Names of the rules that were violated. */
  readonly 'violated-policies': readonly string[]
}

/** The problem details of a rejected decision. */
export function quotaExceededProblem(decision: Decision): QuotaExceededProblem {
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    'violated-policies': decision.rules.filter((rule) => !rule.allowed && !rule.shadow).map((rule) => rule.name),
  }
}
