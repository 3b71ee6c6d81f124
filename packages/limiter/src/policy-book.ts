import type { Policy } from './policy.ts'

/**
 * The policies in force, by name: read once from the configuration, looked up at every request, exchanged as a whole while
 * requests are under way. Counters are not touched by an exchange.
 */
export interface PolicyBook {
  /** The policy of that name, or the book's fallback. */
  of(name: string | undefined): Policy
  /**
   * Puts other policies in force, all at once.
   * @throws RangeError when two have one name or the fallback is missing; then the old ones stay
   */
  replace(policies: readonly Policy[]): void
  readonly names: readonly string[]
}

/**
 * @param fallback name of the policy for names that nobody knows, for tiers the lowest
 * @throws RangeError when two policies have one name or the fallback is missing
 */
export function policyBook(policies: readonly Policy[], fallback: string): PolicyBook {
  let pages = pagesOf(policies)
  let last = fallbackIn(pages)

  function fallbackIn(candidate: ReadonlyMap<string, Policy>): Policy {
    const policy = candidate.get(fallback)
    if (!policy) throw new RangeError(`no policy is named "${fallback}"; there are ${[...candidate.keys()].join(', ')}`)
    return policy
  }

  return {
    of: (name) => (name === undefined ? last : (pages.get(name) ?? last)),
    replace(next) {
      const candidate = pagesOf(next)
      last = fallbackIn(candidate)
      pages = candidate
    },
    get names() {
      return [...pages.keys()]
    },
  }
}

function pagesOf(policies: readonly Policy[]): ReadonlyMap<string, Policy> {
  const pages = new Map(policies.map((policy) => [policy.name, policy]))
  if (pages.size < policies.length) throw new RangeError('two policies have one name')
  return pages
}
