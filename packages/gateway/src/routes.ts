import { type Http, Problem, type RecordChange } from '@gatehouse/kit'
import type { Identifier, Limiter, Policy } from '@gatehouse/limiter'
import { Type } from 'typebox'
import { maskedExplanation } from './admin/limit-masking.ts'
import { decisionTold, explanationTold, limitsTold } from './admin/limit-responses.ts'
import { createOperators, limitScopes, type Operators } from './admin/operators.ts'
import { decisionAnswer, explanationAnswer, limitsAnswer, whoseLimit } from './admin/schemas.ts'
import { guardsSignIn, type Limits } from './config/limits.ts'
import { type OperationId, operation } from './http/operations.ts'
import { countedAddress, parseAddress } from './model/address.ts'
import type { Authenticate } from './model/caller.ts'
import { type RouteRule, unlimited } from './model/route-rule.ts'
import type { ContextTokens } from './proxy/context-tokens.ts'

/** Where upstreams read the keys that context tokens are signed with. */
const contextKeysPath = '/.well-known/gatehouse-context.json'

export interface RouteParts {
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
export async function routes(http: Http, parts: RouteParts): Promise<void> {
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

function operatorRoutes(http: Http, parts: RouteParts): void {
  const operators = createOperators(parts)
  readingRoutes(http, parts, operators)
  changingRoutes(http, parts, operators)
}

function about(scopes: readonly string[], id: OperationId) {
  return { tags: ['limits'], ...operation(id), security: scopes.map((scope) => ({ bearer: [scope] })) }
}

function readingRoutes(http: Http, { limiter, limits, rules }: RouteParts, operators: Operators): void {
  const reads = { onRequest: operators.allow(limitScopes.read) }
  const list = { ...about(limitScopes.read, 'limits.list'), response: { 200: limitsAnswer } }
  http.get('/admin/v1/limits', { ...reads, schema: list }, async () => limitsTold(limits(), rules))

  const peek = {
    ...about(limitScopes.read, 'limits.get'),
    params: whoseLimit,
    response: { 200: decisionAnswer },
  }
  http.get(onePath, { ...reads, schema: peek }, async ({ params }) =>
    decisionTold(await limiter.peek(policiesOf(limits(), params.policy), whose(params))),
  )

  const explain = {
    ...about(limitScopes.read, 'limits.explain'),
    params: whoseLimit,
    response: { 200: explanationAnswer },
  }
  http.get(`${onePath}/explain`, { ...reads, schema: explain }, async (request) => {
    const { params } = request
    const told = explanationTold(await limiter.explain(policiesOf(limits(), params.policy), whose(params)))
    return operators.masks(request) ? maskedExplanation(told) : told
  })
}

function changingRoutes(http: Http, { limiter, limits, maxGrant }: RouteParts, operators: Operators): void {
  const reset = {
    ...about(limitScopes.manage, 'limits.reset'),
    params: whoseLimit,
    response: { 204: Type.Null() },
  }
  const resets = { onRequest: operators.allow(limitScopes.manage), schema: reset }
  http.delete(onePath, resets, async (request, reply) => {
    const policy = policyOf(limits(), request.params.policy)
    const identifier = whose(request.params)
    await operators.record(request, { action: 'limits.reset', policy, identifier })
    await atStore(limiter.reset(policy, identifier))
    return reply.code(204).send(null)
  })

  const grant = {
    ...about(limitScopes.grant, 'limits.grant'),
    params: whoseLimit,
    body: Type.Object({ amount: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) }, { additionalProperties: false }),
    response: { 200: decisionAnswer },
  }
  const grants = { onRequest: operators.allow(limitScopes.grant), schema: grant }
  http.post(`${onePath}/grant`, grants, async (request) => {
    const { amount } = request.body
    const policy = policyOf(limits(), request.params.policy)
    const identifier = whose(request.params)
    if (guardsSignIn(policy) && !operators.holds(request, limitScopes.manage))
      throw new Problem(
        403,
        `Tries counted by ${policy.name} are given back with ${limitScopes.manage[0]} alone: it stops guesses.`,
      )
    if (amount > maxGrant && !operators.holds(request, limitScopes.manage))
      throw new Problem(403, `At most ${maxGrant} may be given back in one call without ${limitScopes.manage[0]}.`)
    await operators.record(request, { action: 'limits.grant', policy, identifier, after: { amount } })
    return decisionTold(await atStore(limiter.grant(policy, identifier, amount)))
  })
}

function policyOf({ tiers, policies }: Limits, name: string): Policy {
  const policy = tiers.get(name) ?? policies.get(name)
  if (policy) return policy
  throw new Problem(
    404,
    `There is no tier or policy "${name}"; there are ${[...tiers.keys(), ...policies.keys()].join(', ')}.`,
  )
}

/** A request is counted by a tier, a route's policy and the global one. */
const mostTogether = 3

/** One policy, or several that count together: `free+search`. Combinations are remembered, so their number is bounded. */
function policiesOf(limits: Limits, text: string): readonly Policy[] {
  if (limits.tiers.has(text) || limits.policies.has(text)) return [policyOf(limits, text)]
  const names = text.split('+')
  if (names.length > mostTogether)
    throw new Problem(400, `At most ${mostTogether} limits are read together, not ${names.length}.`)
  return names.map((name) => policyOf(limits, name))
}

/** What an operator asked for was not done when the store is away, and they must know. */
async function atStore<T>(done: Promise<T>): Promise<T> {
  try {
    return await done
  } catch (cause) {
    throw new Problem(503, 'The counter store is not available; nothing was changed.', { cause })
  }
}

/** An address is counted as requests from it are. */
function whose({ kind, id }: { readonly kind: string; readonly id: string }): Identifier {
  const address = kind === 'ip' ? parseAddress(id) : undefined
  return { kind, id: address ? countedAddress(address) : id }
}
