import { Problem } from '@gatehouse/kit'
import type { Identifier, Limiter, Policy } from '@gatehouse/limiter'
import type { FastifyRequest } from 'fastify'
import type { Limits } from '../config/limits.ts'
import { countedAddress, parseAddress } from '../model/address.ts'
import type { AttemptBlocks } from '../model/attempt-blocks.ts'
import type { RouteRule } from '../model/route-rule.ts'
import type { AppliedLimits } from './applied-limits.ts'
import { maskExplanation } from './limit-masking.ts'
import { formatDecision, formatExplanation, formatLimits } from './limit-responses.ts'
import { limitScopes, type Operators } from './operators.ts'

/** Path parameters that name one limit. */
interface LimitParams {
  readonly policy: string
  readonly kind: string
  readonly id: string
}

/** What {@link LimitOperations} work on. */
export interface LimitOperationsOptions {
  readonly limiter: Limiter
  readonly operators: Operators
  /** Requests that a caller with `write:limit-grants` may grant in one call. */
  readonly maxGrant: number
  readonly policies: AppliedLimits
  /** Attempts that this process rejects without asking the counters. */
  readonly blocks: AttemptBlocks
  /** The rules of all routes. */
  readonly rules: readonly RouteRule[]
}

/** What operators do with limits. */
export class LimitOperations {
  readonly #options: LimitOperationsOptions

  constructor(options: LimitOperationsOptions) {
    this.#options = options
  }

  /** Every tier and policy, and the routes that name one. */
  list() {
    const { policies, rules } = this.#options
    return formatLimits(policies.limits(), rules)
  }

  /** The state of a limit. Counts nothing. */
  async read(request: FastifyRequest, params: LimitParams) {
    const { limiter, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    const identifier = parseIdentifier(params)
    return formatDecision(await limiter.peek(this.#countedPolicies(params.policy, identifier), identifier))
  }

  /** How a limit is counted; personal data is masked unless the caller may read it. */
  async explain(request: FastifyRequest, params: LimitParams) {
    const { limiter, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    const identifier = parseIdentifier(params)
    const counted = this.#countedPolicies(params.policy, identifier)
    const response = formatExplanation(await limiter.explain(counted, identifier))
    return operators.mustMask(request) ? maskExplanation(response) : response
  }

  /** Forgets what was counted. The change is recorded before it is made. */
  async reset(request: FastifyRequest, params: LimitParams): Promise<void> {
    const { limiter, policies, operators, blocks } = this.#options
    operators.refuseGuesses(request, params.kind)
    const limits = policies.limits()
    const policy = findLimit(limits, params.policy)
    operators.requireOwner(request, attemptLimitsOf([policy], limits))
    const identifier = parseIdentifier(params)
    await operators.record(request, { action: 'limits.reset', policy, identifier })
    await requireStore(limiter.reset(policy, identifier))
    blocks.delete(policy.name, identifier)
  }

  /** Gives requests back. The change is recorded before it is made. */
  async grant(request: FastifyRequest, params: LimitParams, amount: number) {
    const { limiter, policies, operators, blocks } = this.#options
    operators.refuseGuesses(request, params.kind)
    const policy = findLimit(policies.limits(), params.policy)
    const identifier = parseIdentifier(params)
    this.#authorizeGrant(request, policy, amount)
    await operators.record(request, { action: 'limits.grant', policy, identifier, after: { amount } })
    const decision = await requireStore(limiter.grant(policy, identifier, amount))
    blocks.delete(policy.name, identifier)
    return formatDecision(decision)
  }

  /** Policies by name as they count this identifier: an override may have another limit in place of a tier. */
  #countedPolicies(text: string, identifier: Identifier): readonly Policy[] {
    const { policies } = this.#options
    const limits = policies.limits()
    return findPolicies(limits, text).map((policy) =>
      limits.tiers.has(policy.name) ? policies.inPlaceOf(policy, identifier) : policy,
    )
  }

  /** A small grant helps one caller for a while; a large one, and attempts, are as good as a reset. */
  #authorizeGrant(request: FastifyRequest, policy: Policy, amount: number): void {
    const { maxGrant, operators, policies } = this.#options
    const attemptLimits = attemptLimitsOf([policy], policies.limits())
    if (amount <= maxGrant && attemptLimits.length === 0) return
    const [manage] = limitScopes.manage
    if (!operators.hasScope(request, limitScopes.manage))
      throw new Problem(
        403,
        attemptLimits.length === 0
          ? `At most ${maxGrant} can be granted in one call without ${manage}.`
          : `What ${policy.name} counted cannot be granted without ${manage}: it limits attempts.`,
      )
    operators.requireOwner(request, attemptLimits)
    operators.refuseOldSignIn(request)
  }
}

/** The names of those policies that limit attempts. */
export function attemptLimitsOf(policies: readonly Policy[], { attempts }: Limits): string[] {
  return policies.map(({ name }) => name).filter((name) => attempts.has(name))
}

/** A tier or policy by name. @throws Problem 404, or another status where the name is a parameter of the query */
export function findLimit({ tiers, policies }: Limits, name: string, status: 400 | 404 = 404): Policy {
  const policy = tiers.get(name) ?? policies.get(name)
  if (policy) return policy
  throw new Problem(
    status,
    `There is no tier or policy "${name}"; there are ${[...tiers.keys(), ...policies.keys()].join(', ')}.`,
  )
}

/** A request counts by a tier, a route's policy and the global one. */
const maxCombinedPolicies = 3

/** One policy, or several that count together: `free+search`. Combinations are cached, so their number is bounded. */
function findPolicies(limits: Limits, text: string): readonly Policy[] {
  if (limits.tiers.has(text) || limits.policies.has(text)) return [findLimit(limits, text)]
  const names = text.split('+')
  if (names.length > maxCombinedPolicies)
    throw new Problem(400, `At most ${maxCombinedPolicies} limits can be read together, not ${names.length}.`)
  return names.map((name) => findLimit(limits, name))
}

/** An operator must know that nothing changed while the store is unavailable. @throws Problem 503 */
export async function requireStore<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (cause) {
    throw new Problem(503, 'The counter store is not available; nothing was changed.', { cause })
  }
}

/** An address is counted as requests from it are: IPv6 by its /64. */
export function parseIdentifier({ kind, id }: Identifier): Identifier {
  const address = kind === 'ip' ? parseAddress(id) : undefined
  return { kind, id: address ? countedAddress(address) : id }
}
