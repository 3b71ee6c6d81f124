import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { type RouteRule, unlimited } from '../model/route-rule.ts'
import { defaultPolicies, defaultTiers } from './default-limits.ts'
import { PolicyDeclaration, TierDeclaration } from './limit-declaration.ts'
import { defineLimits, hasLimit, type Limits, type LimitsDeclaration } from './limits.ts'

/** Tiers and policies with nothing left to a default, as they are stored and edited. */
export interface LimitsDocument {
  readonly tiers: Readonly<Record<string, TierDeclaration>>
  readonly policies: Readonly<Record<string, PolicyDeclaration>>
  /** The policy that every request counts by as well. */
  readonly global_policy?: string
}

const documentCheck = Compile(
  Type.Object(
    {
      tiers: Type.Record(Type.String(), TierDeclaration),
      policies: Type.Record(Type.String(), PolicyDeclaration),
      global_policy: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
)

/** A stored document, whole or not at all. @throws RangeError naming the member that was not expected */
export function parseLimitsDocument(value: unknown): LimitsDocument {
  if (documentCheck.Check(value)) return value
  const [fault] = documentCheck.Errors(value)
  throw new RangeError(`the stored limits${fault?.instancePath ?? ''}: ${fault?.message ?? 'not the expected members'}`)
}

/** Adds the built-in tiers and policies to those of a file. */
export function completeLimits({
  tiers = defaultTiers,
  policies = {},
  globalPolicy,
}: LimitsDeclaration): LimitsDocument {
  const declared = Object.entries(policies).map(
    ([name, policy]) => [name, hasLimit(policy) ? policy : { ...defaultPolicies[name], ...policy }] as const,
  )
  return {
    tiers,
    policies: { ...defaultPolicies, ...Object.fromEntries(declared) },
    ...(globalPolicy === undefined ? {} : { global_policy: globalPolicy }),
  }
}

/** A document as the gateway takes declarations. */
export function declarationOf({ tiers, policies, global_policy: globalPolicy }: LimitsDocument): LimitsDeclaration {
  return { tiers, policies, ...(globalPolicy === undefined ? {} : { globalPolicy }) }
}

/**
 * Builds the limits of a declaration for these routes.
 * @throws RangeError naming the tier, the policy or the route, and what was expected
 */
export function limitsFor(declared: LimitsDeclaration, rules: readonly RouteRule[]): Limits {
  const limits = defineLimits(declared)
  for (const { path, policy, producers } of rules)
    for (const name of [policy, producers])
      if (name !== undefined && name !== unlimited) findPolicy(limits, name, `route ${path}`)
  return limits
}

/** A policy or tier by name. @throws RangeError naming those that there are */
export function findPolicy({ tiers, policies }: Limits, name: string, where: string) {
  const policy = where === 'tier' ? tiers.get(name) : (policies.get(name) ?? tiers.get(name))
  if (policy) return policy
  throw new RangeError(
    `${where}: there is no policy "${name}"; there are ${[...policies.keys(), ...tiers.keys()].join(', ')}`,
  )
}
