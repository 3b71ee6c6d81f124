import { type Http, Problem } from '@gatehouse/kit'
import type { Identifier, Limiter, Policy } from '@gatehouse/limiter'
import { Type } from 'typebox'
import { countedAddress, parseAddress } from './address.ts'
import type { ContextTokens } from './context-token.ts'
import { decisionTold, explanationTold, limitsTold } from './limit-answers.ts'
import type { Limits } from './limits.ts'
import { unlimited } from './route-rule.ts'
import { decisionAnswer, explanationAnswer, limitsAnswer, whoseLimit } from './route-schemas.ts'

/** Where upstreams read the keys that context tokens are signed with. */
const contextKeysPath = '/.well-known/gatehouse-context.json'
/** What an operator needs to look at limits and change them. */
const operatorScope = 'admin:limits'

export interface RouteParts {
  readonly limiter: Limiter
  readonly contextTokens: ContextTokens
  limits(): Limits
}

/** Every endpoint of the gateway's own on one screen. */
export async function routes(http: Http, parts: RouteParts): Promise<void> {
  const contextKeys = {
    tags: ['gateway'],
    summary: 'The keys that context tokens for upstreams are signed with (RFC 7517)',
    security: [],
    response: { 200: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }) },
  }
  const exempt = { gatewayRule: { path: contextKeysPath, public: true, policy: unlimited } }
  http.get(contextKeysPath, { schema: contextKeys, config: exempt }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=300').header('access-control-allow-origin', '*')
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return { keys: parts.contextTokens.keys() }
  })
  http.options(contextKeysPath, { schema: { hide: true }, config: exempt }, async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('access-control-allow-methods', 'GET, HEAD')
    return reply.header('access-control-allow-headers', '*').header('access-control-max-age', '600').code(204).send()
  })
  operatorRoutes(http, parts)
}

function operatorRoutes(http: Http, { limiter, limits }: RouteParts): void {
  const operators = { tags: ['limits'], security: [{ bearer: [operatorScope] }] }
  const config = { gatewayRule: { path: '/admin/v1/limits*', scope: operatorScope } }
  const path = '/admin/v1/limits/:policy/:kind/:id'

  const list = { ...operators, summary: 'Every tier and policy', response: { 200: limitsAnswer } }
  http.get('/admin/v1/limits', { schema: list, config }, async () => limitsTold(limits()))

  const peek = {
    ...operators,
    summary: 'How the next request would fare; takes nothing',
    params: whoseLimit,
    response: { 200: decisionAnswer },
  }
  http.get(path, { schema: peek, config }, async ({ params }) =>
    decisionTold(await limiter.peek(policyOf(limits(), params.policy), whose(params))),
  )

  const explain = {
    ...operators,
    summary: 'Where it is counted, and why the next request would be let through or not',
    params: whoseLimit,
    response: { 200: explanationAnswer },
  }
  http.get(`${path}/explain`, { schema: explain, config }, async ({ params }) =>
    explanationTold(await limiter.explain(policyOf(limits(), params.policy), whose(params))),
  )

  const reset = {
    ...operators,
    summary: 'Forget what was used up of the current windows',
    params: whoseLimit,
    response: { 204: Type.Null() },
  }
  http.delete(path, { schema: reset, config }, async ({ params }, reply) => {
    await atStore(limiter.reset(policyOf(limits(), params.policy), whose(params)))
    return reply.code(204).send(null)
  })

  const grant = {
    ...operators,
    summary: 'Give requests back to the current windows',
    params: whoseLimit,
    body: Type.Object({ amount: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) }, { additionalProperties: false }),
    response: { 200: decisionAnswer },
  }
  http.post(`${path}/grant`, { schema: grant, config }, async ({ params, body }) =>
    decisionTold(await atStore(limiter.grant(policyOf(limits(), params.policy), whose(params), body.amount))),
  )
}

function policyOf({ tiers, policies }: Limits, name: string): Policy {
  const policy = tiers.get(name) ?? policies.get(name)
  if (policy) return policy
  throw new Problem(
    404,
    `There is no tier or policy "${name}"; there are ${[...tiers.keys(), ...policies.keys()].join(', ')}.`,
  )
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
