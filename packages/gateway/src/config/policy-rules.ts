import type { Policy, Rule } from '@gatehouse/limiter'

/** A limit on attempts that a service declares: how many attempts in how many seconds. */
export interface AttemptLimitDeclaration {
  readonly limit: number
  readonly windowSeconds: number
  /** `local` for a limit on load, which stops no guessing. Default: it is exact, global and fails closed. */
  readonly failureMode?: 'local'
}

/** The rule of an attempt limit. */
export function attemptRules(name: string, { limit, windowSeconds }: AttemptLimitDeclaration): Rule[] {
  return [{ name, limit, windowMs: windowSeconds * 1_000 }]
}

/** What a policy allows in a minute, shadow rules apart: the smallest of its rules. */
export function requestsPerMinute({ rules }: Policy): number {
  return Math.min(...rules.filter(({ shadow }) => !shadow).map(({ limit, windowMs }) => (limit * 60_000) / windowMs))
}
