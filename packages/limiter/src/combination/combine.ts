import { everyone, type Identifier } from '../key.ts'
import type { FailureMode, Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'

/** As many as a store's answer has bits for. */
const maxRules = 24

const combinations = new WeakMap<Policy, WeakMap<Policy, Policy>>()

/**
 * One policy of several, by all of which a request is counted together, all or nothing: say that of its tier, that of its
 * route and one for everybody. The same policies make the same combination. Where two of them have a rule on the same
 * counter, the stricter one stays. Any that fails closed has the whole fail closed; the first gives its tier to the metrics.
 * @throws RangeError for no policy, or for more than 24 rules
 */
export function combinePolicies(policies: readonly Policy[]): Policy {
  const [first, ...others] = policies
  if (first === undefined) throw new RangeError('a combination has at least one policy')
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

/** The policies of a combination; a policy by itself is its only part. */
export function partsOf(policy: Policy): readonly Policy[] {
  return policy.parts ?? [policy]
}

function buildCombination(candidates: readonly Policy[]): Policy {
  const parts = removeDuplicates(candidates)
  const rules = nameRules(parts.flatMap((part) => part.rules))
  const name = candidates.map((part) => part.name).join('+')
  if (rules.length > maxRules)
    throw new RangeError(`policy "${name}": a combination has at most ${maxRules} rules, not ${rules.length}`)
  return Object.freeze({
    name,
    tier: candidates[0]?.tier ?? name,
    rules,
    failureMode: strictest(parts),
    advisory: parts.every(({ advisory }) => advisory),
    quota: parts.every(({ quota }) => quota === 'regional') ? 'regional' : 'global',
    shards: parts.length === 1 ? (parts[0]?.shards ?? 1) : 1,
    shared: parts.every(({ shared }) => shared),
    parts,
  })
}

/**
 * The parts without the rules whose counter a stricter one has too: a request is counted once. The part whose rule stays
 * then fails, and is counted, no less strictly than the one whose rule went.
 */
function removeDuplicates(candidates: readonly Policy[]): readonly Policy[] {
  const kept = new Map<string, CountedRule>()
  for (const rule of candidates.flatMap((part) => part.rules)) {
    const other = kept.get(counterOf(rule))
    if (other === undefined || isStricter(rule, other)) kept.set(counterOf(rule), rule)
  }
  const stays = new Set(kept.values())
  return candidates.flatMap((part) => {
    const rules = part.rules.filter((rule) => stays.has(rule))
    if (rules.length === 0) return []
    const counters = new Set(rules.map(counterOf))
    const sharing = candidates.filter((other) => other.rules.some((rule) => counters.has(counterOf(rule))))
    const failureMode = strictest(sharing)
    const advisory = sharing.every((other) => other.advisory)
    const isWhole = rules.length === part.rules.length
    if (isWhole && failureMode === part.failureMode && advisory === part.advisory) return [part]
    return [Object.freeze({ ...part, rules: Object.freeze(rules), failureMode, advisory })]
  })
}

const counterOf = ({ family, subject }: CountedRule): string => `${subject === undefined ? '' : 'shared '}${family}`

/** By the limit; of equal ones a sliding window, which also looks back, and the bucket that refills more slowly. */
function isStricter(rule: CountedRule, other: CountedRule): boolean {
  if (rule.shadow !== other.shadow) return other.shadow
  if (rule.limit !== other.limit) return rule.limit < other.limit
  if (rule.refillPerMs !== other.refillPerMs) return rule.refillPerMs < other.refillPerMs
  return rule.algorithm === 'sliding-window' && other.algorithm === 'fixed-window'
}

/** Rules of one name are told apart by their policies. */
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

const strictness: readonly FailureMode[] = ['closed', 'local', 'open']

function strictest(parts: readonly Policy[]): FailureMode {
  return strictness.find((mode) => parts.some(({ failureMode }) => failureMode === mode)) ?? 'local'
}

/** Who is counted by a policy that does not mix rules for everyone with others. */
export function countedIdentifier(policy: Policy, identifier: Identifier): Identifier {
  return policy.shared ? everyone : identifier
}
