import type { FailureMode, Policy, Rule } from '@gatehouse/limiter'

/** A limit on attempts that a service declares: how many attempts in how many seconds. */
export interface AttemptLimitDeclaration {
  readonly limit: number
  readonly windowSeconds: number
}

/** The rule of an attempt limit. */
export function attemptRules(name: string, { limit, windowSeconds }: AttemptLimitDeclaration): Rule[] {
  return [{ name, limit, windowMs: windowSeconds * 1_000 }]
}

const windows = [
  ['rps', 1_000],
  ['rpm', 60_000],
  ['daily', 86_400_000],
] as const

interface RulesDeclaration {
  readonly rps?: number | undefined
  readonly rpm?: number | undefined
  readonly daily?: number | undefined
  readonly burst?: { readonly capacity: number; readonly refill_per_second: number } | undefined
  readonly shadow?: Omit<RulesDeclaration, 'shadow' | 'algorithm'> | undefined
  readonly algorithm?: 'sliding-window' | 'fixed-window' | undefined
}

/**
 * The rules of a declaration. They are named `search-rpm`, shadow rules `search-shadow-rpm`; keys and violated-policies
 * show these names.
 */
export function defineRules(
  policy: string,
  { shadow, algorithm = 'sliding-window', ...limits }: RulesDeclaration,
): Rule[] {
  const ruleName = (rule: string) => (policy === '' ? rule : `${policy}-${rule}`)
  const windowRules = (declared: RulesDeclaration, shadow: boolean): Rule[] =>
    windows.flatMap(([member, windowMs]) => {
      const limit = declared[member]
      if (limit === undefined) return []
      return [{ name: ruleName(shadow ? `shadow-${member}` : member), algorithm, limit, windowMs, shadow }]
    })
  const bucketRules = ({ burst }: RulesDeclaration, shadow: boolean): Rule[] => {
    if (burst === undefined) return []
    const { capacity: limit, refill_per_second: refillPerSecond } = burst
    const name = ruleName(shadow ? 'shadow-burst' : 'burst')
    return [{ name, algorithm: 'token-bucket', limit, refillPerSecond, shadow }]
  }
  const rulesOf = (declared: RulesDeclaration, isShadow: boolean) => [
    ...windowRules(declared, isShadow),
    ...bucketRules(declared, isShadow),
  ]
  return [...rulesOf(limits, false), ...rulesOf(shadow ?? {}, true)]
}

interface PolicyOptionsDeclaration {
  readonly failure_mode?: FailureMode
  readonly mode?: 'exact' | 'hybrid'
  readonly quota?: 'regional' | 'global'
  readonly shards?: number
  readonly shared?: boolean
}

/** The options of a policy that are not rules, as `definePolicy` takes them. */
export function policyOptions({ failure_mode: failureMode, mode, quota, shards, shared }: PolicyOptionsDeclaration) {
  return {
    ...(shared === undefined ? {} : { shared }),
    ...(failureMode === undefined ? {} : { failureMode }),
    ...(quota === undefined ? {} : { quota }),
    ...(shards === undefined ? {} : { shards }),
    advisory: mode === 'hybrid',
  }
}

/** What a policy allows in a minute, shadow rules apart: the smallest of its rules. */
export function requestsPerMinute({ rules }: Policy): number {
  return Math.min(...rules.filter(({ shadow }) => !shadow).map(({ limit, windowMs }) => (limit * 60_000) / windowMs))
}
