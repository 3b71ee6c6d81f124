import type { Clock } from '@gatehouse/kit'
import { createLimiter, definePolicy, type Identifier } from '@gatehouse/limiter'
import { type AttemptLimitName, attemptLimitPolicies, type IdentityOptions } from '../../src/index.ts'

type Limits = Required<Pick<IdentityOptions, 'limit' | 'refund' | 'blocked' | 'forgive'>>

/** Counts attempts as the program does, with smaller limits where a test needs them. */
export function attemptLimits(smaller: Partial<Record<AttemptLimitName, number>>, clock: Clock): Limits {
  const limiter = createLimiter({ clock })
  const policies = new Map(
    Object.entries(attemptLimitPolicies).map(([name, { limit, windowSeconds }]) => {
      const rule = { name, limit: smaller[name as AttemptLimitName] ?? limit, windowMs: windowSeconds * 1_000 }
      return [name, definePolicy(name, [rule])]
    }),
  )
  const policyOf = (name: AttemptLimitName) => {
    const policy = policies.get(name)
    if (policy === undefined) throw new RangeError(name)
    return policy
  }
  const identifierOf = (identifiers: Readonly<Record<string, string>>): Identifier => ({
    kind: Object.keys(identifiers).sort().join('-'),
    id: JSON.stringify(Object.entries(identifiers).sort()),
  })
  const blocks = new Map<string, number>()
  const keyOf = (name: AttemptLimitName, { kind, id }: Identifier) => `${name} ${kind} ${id}`
  return {
    async limit(name, identifiers) {
      const identifier = identifierOf(identifiers)
      const { allowed, retryAfterSeconds: retryAfter } = await limiter.check(policyOf(name), identifier)
      blocks.set(keyOf(name, identifier), clock.now() + retryAfter * 1_000)
      return { allowed, retryAfter }
    },
    async refund(name, identifiers) {
      await limiter.grant(policyOf(name), identifierOf(identifiers), 1)
    },
    blocked: async (name, identifiers) =>
      Math.max(0, Math.ceil(((blocks.get(keyOf(name, identifierOf(identifiers))) ?? 0) - clock.now()) / 1_000)),
    forgive: (name, identifiers) => limiter.reset(policyOf(name), identifierOf(identifiers)),
  }
}
