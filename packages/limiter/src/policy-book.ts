import type { Policy } from './policy.ts'

/**
 * The policies in force, by name: created from the configuration, looked up for every request, replaced as a whole while
 * requests are being served. Replacing policies does not change counters.
 */
export interface PolicyBook {
  /** The policy of that name, or the fallback. */
  of(name: string | undefined): Policy
  /**
   * Replaces all policies at once.
   *
   * @throws RangeError when two have the same name or the fallback is missing; the old policies stay in force
   */
  replace(policies: readonly Policy[]): void
  /** Names of the policies in force. */
  readonly names: readonly string[]
}

/**
 * Creates a book of policies.
 *
 * @param fallback name of the policy for unknown names; for tiers the lowest
 * @throws RangeError when two policies have the same name or the fallback is missing
 * @example
 * const tiers = policyBook([tierPolicy('free', { rpm: 10 }), tierPolicy('pro', { rpm: 100 })], 'free')
 * await limiter.check(tiers.of(user.plan), { kind: 'user', id: user.id })
 */
export function policyBook(policies: readonly Policy[], fallback: string): PolicyBook {
  let byName = indexByName(policies)
  let fallbackPolicy = findFallback(byName)

  function findFallback(candidates: ReadonlyMap<string, Policy>): Policy {
    const policy = candidates.get(fallback)
    if (!policy) throw new RangeError(`no policy is named "${fallback}"; known: ${[...candidates.keys()].join(', ')}`)
    return policy
  }

  return {
    of: (name) => (name === undefined ? fallbackPolicy : (byName.get(name) ?? fallbackPolicy)),
    replace(next) {
      const candidates = indexByName(next)
      fallbackPolicy = findFallback(candidates)
      byName = candidates
    },
    get names() {
      return [...byName.keys()]
    },
  }
}

function indexByName(policies: readonly Policy[]): ReadonlyMap<string, Policy> {
  const byName = new Map(policies.map((policy) => [policy.name, policy]))
  if (byName.size < policies.length) throw new RangeError('policy names must be unique')
  return byName
}
