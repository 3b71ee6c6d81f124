import { everyone, type Identifier } from '../key.ts'
import { type FailureMode, hasEnforcedRule, type Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'

/** A result has that many bits for violated rules. */
const maxRules = 24

const combinations = new WeakMap<Policy, WeakMap<Policy, Policy>>()

/**
 * Combines policies into one, by all of which a request is counted, all or nothing: for example those of its tier, of its
 * route, and a global one. The same policies give the same combination. Where two of them have a rule on the same
 * counter, the stricter rule is kept. The combination fails closed when one of its policies does that is not all in shadow;
 * the first policy names the tier for metrics.
 *
 * @throws RangeError for an empty list, or for more than 24 rules
 * @example
 * const both = combinePolicies([tierPolicy('free', { rpm: 10 }), searchPolicy])
 * await limiter.check(both, { kind: 'user', id: '42' })
 */
export function combinePolicies(policies: readonly Policy[]): Policy {
  const [first, ...others] = policies
  if (first === undefined) throw new RangeError('a combination needs at least one policy')
  return others.reduce(combinePair, first)
}

function combinePair(one: Policy, other: Policy): Policy {
  if (one === other || one.parts?.includes(other)) return one
  let known = combinations.get(one)
  if (known === undefined) {
    known = new WeakMap()
    combinations.set(one, known)
  }
  let pair = known.get(other)
  if (pair === undefined) {
    pair = buildCombination([...partsOf(one), ...partsOf(other)])
    known.set(other, pair)
  }
  return pair
}

/** The policies of a combination; a single policy is its only part. */
export function partsOf(policy: Policy): readonly Policy[] {
  return policy.parts ?? [policy]
}

function buildCombination(candidates: readonly Policy[]): Policy {
  const parts = removeDuplicates(candidates)
  const rules = nameRules(parts.flatMap((part) => part.rules))
  const name = candidates.map((part) => part.name).join('+')
  if (rules.length > maxRules)
    throw new RangeError(`policy "${name}": a combination has at most ${maxRules} rules, got ${rules.length}`)
  return Object.freeze({
    name,
    tier: candidates[0]?.tier ?? name,
    rules,
    failureMode: strictestMode(parts),
    advisory: parts.every(({ advisory }) => advisory),
    quota: parts.every(({ quota }) => quota === 'regional') ? 'regional' : 'global',
    shards: parts.length === 1 ? (parts[0]?.shards ?? 1) : 1,
    shared: parts.every(({ shared }) => shared),
    parts,
  })
}

/**
 * Removes rules whose counter a stricter rule has too, so that a request is counted once. The policy that keeps its rule
 * then fails, and is counted, no less strictly than the one that lost its rule.
 */
function removeDuplicates(candidates: readonly Policy[]): readonly Policy[] {
  const strictest = new Map<string, CountedRule>()
  for (const rule of candidates.flatMap((part) => part.rules)) {
    const other = strictest.get(counterOf(rule))
    if (other === undefined || isStricter(rule, other)) strictest.set(counterOf(rule), rule)
  }
  const remaining = new Set(strictest.values())
  return candidates.flatMap((part) => {
    const rules = part.rules.filter((rule) => remaining.has(rule))
    if (rules.length === 0) return []
    const counters = new Set(rules.map(counterOf))
    const sharing = candidates.filter((other) => other.rules.some((rule) => counters.has(counterOf(rule))))
    const failureMode = strictestMode(sharing)
    const advisory = sharing.every((other) => other.advisory)
    const isWhole = rules.length === part.rules.length
    if (isWhole && failureMode === part.failureMode && advisory === part.advisory) return [part]
    return [Object.freeze({ ...part, rules: Object.freeze(rules), failureMode, advisory })]
  })
}

const counterOf = ({ family, subject }: CountedRule): string => `${subject === undefined ? '' : 'shared '}${family}`

/** By the limit; of equal ones the sliding window, which also counts the previous window, or the slower bucket. */
function isStricter(rule: CountedRule, other: CountedRule): boolean {
  if (rule.shadow !== other.shadow) return other.shadow
  if (rule.limit !== other.limit) return rule.limit < other.limit
  if (rule.refillPerMs !== other.refillPerMs) return rule.refillPerMs < other.refillPerMs
  return rule.algorithm === 'sliding-window' && other.algorithm === 'fixed-window'
}

/** Puts the policy's name before that of a rule whose name an earlier rule has. */
function nameRules(rules: readonly CountedRule[]): readonly CountedRule[] {
  const names = new Set<string>()
  return Object.freeze(
    rules.map((rule) => {
      const name = names.has(rule.name) ? `${rule.policy}:${rule.name}` : rule.name
      names.add(name)
      return name === rule.name ? rule : Object.freeze({ ...rule, name })
    }),
  )
}

const modesByStrictness: readonly FailureMode[] = ['closed', 'local', 'open']

/** Of policies that can reject, where there are some. */
function strictestMode(parts: readonly Policy[]): FailureMode {
  const enforced = parts.filter(hasEnforcedRule)
  const deciding = enforced.length > 0 ? enforced : parts
  return modesByStrictness.find((mode) => deciding.some(({ failureMode }) => failureMode === mode)) ?? 'local'
}

/** The identifier that a policy counts, which does not mix rules for all identifiers with others. */
export function countedIdentifier(policy: Policy, identifier: Identifier): Identifier {
  return policy.shared ? everyone : identifier
}
