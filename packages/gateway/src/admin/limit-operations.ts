import { Problem } from '@gatehouse/kit'
import type { Identifier, Limiter, Policy } from '@gatehouse/limiter'
import type { FastifyRequest } from 'fastify'
import { isSignInPolicy, type Limits } from '../config/limits.ts'
import { countedAddress, parseAddress } from '../model/address.ts'
import type { RouteRule } from '../model/route-rule.ts'
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
  /** The current limits. */
  limits(): Limits
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
    const { limits, rules } = this.#options
    return formatLimits(limits(), rules)
  }

  /** The state of a limit. Counts nothing. */
  async read(request: FastifyRequest, params: LimitParams) {
    const { limiter, limits, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    return formatDecision(await limiter.peek(findPolicies(limits(), params.policy), parseIdentifier(params)))
  }

  /** How a limit is counted; personal data is masked unless the caller may read it. */
  async explain(request: FastifyRequest, params: LimitParams) {
    const { limiter, limits, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    const policies = findPolicies(limits(), params.policy)
    const response = formatExplanation(await limiter.explain(policies, parseIdentifier(params)))
    return operators.mustMask(request) ? maskExplanation(response) : response
  }

  /** Forgets what was counted. The change is recorded before it is made. */
  async reset(request: FastifyRequest, params: LimitParams): Promise<void> {
    const { limiter, limits, operators } = this.#options
    const policy = findPolicy(limits(), params.policy)
    const identifier = parseIdentifier(params)
    await operators.record(request, { action: 'limits.reset', policy, identifier })
    await requireStore(limiter.reset(policy, identifier))
  }

  /** Gives requests back. The change is recorded before it is made. */
  async grant(request: FastifyRequest, params: LimitParams, amount: number) {
    const { limiter, limits, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    const policy = findPolicy(limits(), params.policy)
    const identifier = parseIdentifier(params)
    if (!operators.hasScope(request, limitScopes.manage)) this.#requireSmallGrant(policy, amount)
    await operators.record(request, { action: 'limits.grant', policy, identifier, after: { amount } })
    return formatDecision(await requireStore(limiter.grant(policy, identifier, amount)))
  }

  #requireSmallGrant(policy: Policy, amount: number): void {
    const { maxGrant } = this.#options
    if (isSignInPolicy(policy))
      throw new Problem(
        403,
        `Attempts counted by ${policy.name} can be granted with ${limitScopes.manage[0]} only: it limits sign-in.`,
      )
    if (amount > maxGrant)
      throw new Problem(403, `At most ${maxGrant} can be granted in one call without ${limitScopes.manage[0]}.`)
  }
}

function findPolicy({ tiers, policies }: Limits, name: string): Policy {
  const policy = tiers.get(name) ?? policies.get(name)
  if (policy) return policy
  throw new Problem(
    404,
    `There is no tier or policy "${name}"; there are ${[...tiers.keys(), ...policies.keys()].join(', ')}.`,
  )
}

/** A request counts by a tier, a route's policy and the global one. */
const maxCombinedPolicies = 3

/** One policy, or several that count together: `free+search`. Combinations are cached, so their number is bounded. */
function findPolicies(limits: Limits, text: string): readonly Policy[] {
  if (limits.tiers.has(text) || limits.policies.has(text)) return [findPolicy(limits, text)]
  const names = text.split('+')
  if (names.length > maxCombinedPolicies)
    throw new Problem(400, `At most ${maxCombinedPolicies} limits can be read together, not ${names.length}.`)
  return names.map((name) => findPolicy(limits, name))
}

/** An operator must know that nothing changed while the store is unavailable. */
async function requireStore<T>(result: Promise<T>): Promise<T> {
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
