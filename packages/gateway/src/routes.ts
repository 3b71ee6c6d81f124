import type { Http } from '@gatehouse/kit'
import { LimitOperations, type LimitOperationsOptions } from './admin/limit-operations.ts'
import { createOperators, limitScopes, type OperatorsOptions } from './admin/operators.ts'
import { contextKeysSchema, limitSchemas } from './admin/schemas.ts'
import { type RouteRule, unlimited } from './model/route-rule.ts'
import type { ContextTokens } from './proxy/context-tokens.ts'

/** Where upstreams read the keys that sign context tokens. */
const contextKeysPath = '/.well-known/gatehouse-context.json'
const limitPath = '/admin/v1/limits/:policy/:kind/:id'

/** What the gateway's own endpoints need. */
export interface RoutesOptions extends OperatorsOptions, Omit<LimitOperationsOptions, 'operators'> {
  readonly contextTokens: ContextTokens
}

/** Every endpoint of the gateway itself. */
export async function routes(http: Http, options: RoutesOptions): Promise<void> {
  const operators = createOperators(options)
  const limits = new LimitOperations({ ...options, operators })
  const canRead = { onRequest: operators.requireScope(limitScopes.read) }
  const canGrant = { onRequest: operators.requireScope(limitScopes.grant) }
  const canManage = { onRequest: operators.requireScope(limitScopes.manage) }
  const { list, read, explain, reset, grant } = limitSchemas
  contextKeyRoutes(http, options.contextTokens)
  http.get('/admin/v1/limits', { ...canRead, schema: list }, async () => limits.list())
  http.get(limitPath, { ...canRead, schema: read }, async ({ params }) => limits.read(params))
  http.get(`${limitPath}/explain`, { ...canRead, schema: explain }, async (request) =>
    limits.explain(request, request.params),
  )
  http.delete(limitPath, { ...canManage, schema: reset }, async (request, reply) => {
    await limits.reset(request, request.params)
    return reply.code(204).send(null)
  })
  http.post(`${limitPath}/grant`, { ...canGrant, schema: grant }, async (request) =>
    limits.grant(request, request.params, request.body.amount),
  )
}

/** The public keys of context tokens, for every origin. */
function contextKeyRoutes(http: Http, contextTokens: ContextTokens): void {
  const gatewayRule: RouteRule = { path: contextKeysPath, public: true, policy: unlimited }
  const config = { gatewayRule }
  http.get(contextKeysPath, { schema: contextKeysSchema, config }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=300').header('access-control-allow-origin', '*')
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return { keys: contextTokens.keys() }
  })
  http.options(contextKeysPath, { schema: { hide: true, security: [] }, config }, async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('access-control-allow-methods', 'GET, HEAD')
    return reply.header('access-control-allow-headers', '*').header('access-control-max-age', '600').code(204).send()
  })
}
