import type { Policy } from '@gatehouse/limiter'
import type { Visit } from './identify.ts'
import { type Limits, type LimitsDeclaration, limitsFrom } from './limits.ts'
import { type RouteRule, unlimited } from './route-rule.ts'
import { createTiers, type TierOptions, unlimitedPlan } from './tier.ts'

export interface Policies {
  /** The limits of this moment. */
  limits(): Limits
  /** @throws RangeError when there is no policy or tier of that name. */
  named(name: string): Policy
  /** What a request is counted by: the route's own policy, else the caller's tier; undefined when it isn't limited. */
  of(visit: Visit, rule: RouteRule | undefined): Policy | undefined | Promise<Policy | undefined>
  /** Takes new tiers and policies. @throws RangeError when they are not valid, and keeps the old ones. */
  reload(declared: LimitsDeclaration): void
}

/**
 * Which policy holds for whom.
 * @throws RangeError when the limits are not valid, or a route names a policy that isn't there.
 */
export function createPolicies(
  declared: LimitsDeclaration,
  rules: readonly RouteRule[],
  lookup: Omit<TierOptions, 'limits'>,
): Policies {
  let limits = checked(declared, rules)
  const tiers = createTiers({ ...lookup, limits: () => limits })
  const tier = (name: string) => (name === unlimitedPlan ? undefined : policyNamed(limits, name, 'tier'))
  return {
    limits: () => limits,
    named: (name) => policyNamed(limits, name, 'limit'),
    of({ caller }, rule) {
      if (rule?.policy === unlimited) return undefined
      if (rule?.policy !== undefined) return policyNamed(limits, rule.policy, rule.path)
      if (caller === undefined) return policyNamed(limits, 'anonymous', 'anonymous')
      if (caller.plan !== undefined) return tier(tiers.named(caller.plan))
      const name = tiers.tierOf(caller.subject)
      return name instanceof Promise ? name.then(tier) : tier(name)
    },
    reload(next) {
      limits = checked({ ...(declared.guards ? { guards: declared.guards } : {}), ...next }, rules)
    },
  }
}

function checked(declared: LimitsDeclaration, rules: readonly RouteRule[]): Limits {
  const limits = limitsFrom(declared)
  for (const { path, policy } of rules)
    if (policy !== undefined && policy !== unlimited) policyNamed(limits, policy, `route ${path}`)
  return limits
}

function policyNamed({ tiers, policies }: Limits, name: string, where: string): Policy {
  const policy = where === 'tier' ? tiers.get(name) : (policies.get(name) ?? tiers.get(name))
  if (policy) return policy
  throw new RangeError(
    `${where}: there is no policy "${name}"; there are ${[...policies.keys(), ...tiers.keys()].join(', ')}`,
  )
}
