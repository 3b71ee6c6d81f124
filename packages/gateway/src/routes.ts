import { type Http, Problem, type RecordChange } from '@gatehouse/kit'
import type { Identifier, Limiter, Policy } from '@gatehouse/limiter'
import { Type } from 'typebox'
import { maskExplanation } from './admin/limit-masking.ts'
import { formatDecision, formatExplanation, formatLimits } from './admin/limit-responses.ts'
import { createOperators, limitScopes, type Operators } from './admin/operators.ts'
import { decisionResponse, explanationResponse, limitParams, limitsResponse } from './admin/schemas.ts'
import { isSignInPolicy, type Limits } from './config/limits.ts'
import { type OperationId, operation } from './http/operations.ts'
import { countedAddress, parseAddress } from './model/address.ts'
import type { Authenticate } from './model/caller.ts'
import { type RouteRule, unlimited } from './model/route-rule.ts'
import type { ContextTokens } from './proxy/context-tokens.ts'

/** Where upstreams read the keys that context tokens are signed with. */
const contextKeysPath = '/.well-known/gatehouse-context.json'

export interface RoutesOptions {
  readonly limiter: Limiter
  readonly contextTokens: ContextTokens
  readonly authenticate: Authenticate
  /** Keeps the audit trail of what operators change. */
  readonly recordChange: RecordChange
  /** Requests that a caller with `write:limit-grants` may give back in one call. */
  readonly maxGrant: number
  limits(): Limits
  /** The rules of all routes. */
  readonly rules: readonly RouteRule[]
}

/** Every endpoint of the gateway's own on one screen. */
export async function routes(http: Http, parts: RoutesOptions): Promise<void> {
  const contextKeys = {
    tags: ['gateway'],
    ...operation('contextKeys.get'),
    security: [],
    response: { 200: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }) },
  }
  const exempt = { gatewayRule: { path: contextKeysPath, public: true, policy: unlimited } }
  http.get(contextKeysPath, { schema: contextKeys, config: exempt }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=300').header('access-control-allow-origin', '*')
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return { keys: parts.contextTokens.keys() }
  })
  http.options(contextKeysPath, { schema: { hide: true, security: [] }, config: exempt }, async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('access-control-allow-methods', 'GET, HEAD')
    return reply.header('access-control-allow-headers', '*').header('access-control-max-age', '600').code(204).send()
  })
  operatorRoutes(http, parts)
}

const onePath = '/admin/v1/limits/:policy/:kind/:id'

function operatorRoutes(http: Http, parts: RoutesOptions): void {
  const operators = createOperators(parts)
  readingRoutes(http, parts, operators)
  changingRoutes(http, parts, operators)
}

function about(scopes: readonly string[], id: OperationId) {
  return { tags: ['limits'], ...operation(id), security: scopes.map((scope) => ({ bearer: [scope] })) }
}

function readingRoutes(http: Http, { limiter, limits, rules }: RoutesOptions, operators: Operators): void {
  const reads = { onRequest: operators.requireScope(limitScopes.read) }
  const list = { ...about(limitScopes.read, 'limits.list'), response: { 200: limitsResponse } }
  http.get('/admin/v1/limits', { ...reads, schema: list }, async () => formatLimits(limits(), rules))

  const peek = {
    ...about(limitScopes.read, 'limits.get'),
    params: limitParams,
    response: { 200: decisionResponse },
  }
  http.get(onePath, { ...reads, schema: peek }, async ({ params }) =>
    formatDecision(await limiter.peek(findPolicies(limits(), params.policy), parseIdentifier(params))),
  )

  const explain = {
    ...about(limitScopes.read, 'limits.explain'),
    params: limitParams,
    response: { 200: explanationResponse },
  }
  http.get(`${onePath}/explain`, { ...reads, schema: explain }, async (request) => {
    const { params } = request
    const response = formatExplanation(
      await limiter.explain(findPolicies(limits(), params.policy), parseIdentifier(params)),
    )
    return operators.mustMask(request) ? maskExplanation(response) : response
  })
}

function changingRoutes(http: Http, { limiter, limits, maxGrant }: RoutesOptions, operators: Operators): void {
  const reset = {
    ...about(limitScopes.manage, 'limits.reset'),
    params: limitParams,
    response: { 204: Type.Null() },
  }
  const resets = { onRequest: operators.requireScope(limitScopes.manage), schema: reset }
  http.delete(onePath, resets, async (request, reply) => {
    const policy = findPolicy(limits(), request.params.policy)
    const identifier = parseIdentifier(request.params)
    await operators.record(request, { action: 'limits.reset', policy, identifier })
    await requireStore(limiter.reset(policy, identifier))
    return reply.code(204).send(null)
  })

  const grant = {
    ...about(limitScopes.grant, 'limits.grant'),
    params: limitParams,
    body: Type.Object({ amount: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) }, { additionalProperties: false }),
    response: { 200: decisionResponse },
  }
  const grants = { onRequest: operators.requireScope(limitScopes.grant), schema: grant }
  http.post(`${onePath}/grant`, grants, async (request) => {
    const { amount } = request.body
    const policy = findPolicy(limits(), request.params.policy)
    const identifier = parseIdentifier(request.params)
    if (isSignInPolicy(policy) && !operators.hasScope(request, limitScopes.manage))
      throw new Problem(
        403,
        `Tries counted by ${policy.name} are given back with ${limitScopes.manage[0]} alone: it stops guesses.`,
      )
    if (amount > maxGrant && !operators.hasScope(request, limitScopes.manage))
      throw new Problem(403, `At most ${maxGrant} may be given back in one call without ${limitScopes.manage[0]}.`)
    await operators.record(request, { action: 'limits.grant', policy, identifier, after: { amount } })
    return formatDecision(await requireStore(limiter.grant(policy, identifier, amount)))
  })
}

function findPolicy({ tiers, policies }: Limits, name: string): Policy {
  const policy = tiers.get(name) ?? policies.get(name)
  if (policy) return policy
  throw new Problem(
    404,
    `There is no tier or policy "${name}"; there are ${[...tiers.keys(), ...policies.keys()].join(', ')}.`,
  )
}

/** A request is counted by a tier, a route's policy and the global one. */
const maxCombinedPolicies = 3

/** One policy, or several that count together: `free+search`. Combinations are remembered, so their number is bounded. */
function findPolicies(limits: Limits, text: string): readonly Policy[] {
  if (limits.tiers.has(text) || limits.policies.has(text)) return [findPolicy(limits, text)]
  const names = text.split('+')
  if (names.length > maxCombinedPolicies)
    throw new Problem(400, `At most ${maxCombinedPolicies} limits are read together, not ${names.length}.`)
  return names.map((name) => findPolicy(limits, name))
}

/** What an operator asked for was not done when the store is away, and they must know. */
async function requireStore<T>(done: Promise<T>): Promise<T> {
  try {
    return await done
  } catch (cause) {
    throw new Problem(503, 'The counter store is not available; nothing was changed.', { cause })
  }
}

/** An address is counted as requests from it are. */
function parseIdentifier({ kind, id }: { readonly kind: string; readonly id: string }): Identifier {
  const address = kind === 'ip' ? parseAddress(id) : undefined
  return { kind, id: address ? countedAddress(address) : id }
}
