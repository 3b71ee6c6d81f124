import type { Http } from '@gatehouse/kit'
import type { RouteShorthandOptions } from 'fastify'
import { CallerOperations, type CallerOperationsOptions } from './admin/callers/operations.ts'
import { callerSchemas } from './admin/callers/schemas.ts'
import { LimitOperations, type LimitOperationsOptions } from './admin/limit-operations.ts'
import { createOperators, limitScopes, type OperatorsOptions } from './admin/operators.ts'
import { RouteOperations, type RouteOperationsOptions } from './admin/route-operations.ts'
import { routeSchemas } from './admin/route-schemas.ts'
import { contextKeysSchema, limitSchemas } from './admin/schemas.ts'
import { type RouteRule, unlimited } from './model/route-rule.ts'
import type { ContextTokens } from './proxy/context-tokens.ts'

/** Where upstreams read the keys that sign context tokens. */
const contextKeysPath = '/.well-known/gatehouse-context.json'
const limitPath = '/admin/v1/limits/:policy/:kind/:id'

/** What the gateway's own endpoints need. */
export interface RoutesOptions
  extends OperatorsOptions,
    Omit<LimitOperationsOptions, 'operators'>,
    Omit<CallerOperationsOptions, 'operators'>,
    RouteOperationsOptions {
  readonly contextTokens: ContextTokens
}

/** Every endpoint of the gateway itself. */
export async function routes(http: Http, options: RoutesOptions): Promise<void> {
  const operators = createOperators(options)
  const limits = new LimitOperations({ ...options, operators })
  const canRead = { onRequest: operators.requireScope(limitScopes.read) }
  const canGrant = { onRequest: operators.requireScope(limitScopes.grant) }
  const canManage = { onRequest: operators.requireRecentSignIn(limitScopes.manage) }
  const { list, read, explain, reset, grant } = limitSchemas
  contextKeyRoutes(http, options.contextTokens)
  callerRoutes(http, new CallerOperations({ ...options, operators }), { canRead, canManage })
  routingRoutes(http, new RouteOperations(options), canRead)
  http.get('/admin/v1/limits', { ...canRead, schema: list }, async () => limits.list())
  http.get(limitPath, { ...canRead, schema: read }, async (request) => limits.read(request, request.params))
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

interface Hooks {
  readonly canRead: RouteShorthandOptions
  readonly canManage: RouteShorthandOptions
}

/** Who is limited, and by which rule. */
function callerRoutes(http: Http, callers: CallerOperations, { canRead, canManage }: Hooks): void {
  const { top, statistics, use, caller, rejections, store, unblock } = callerSchemas
  http.get('/admin/v1/limits/top', { ...canRead, schema: top }, async (request) => callers.top(request, request.query))
  http.get('/admin/v1/limits/stats', { ...canRead, schema: statistics }, async ({ query }) => callers.statistics(query))
  http.get('/admin/v1/limits/use', { ...canRead, schema: use }, async ({ query }) => callers.use(query.policy))
  http.get('/admin/v1/limits/rejections', { ...canRead, schema: rejections }, async (request) =>
    callers.rejections(request, request.query),
  )
  http.get('/admin/v1/limits/store', { ...canRead, schema: store }, async () => callers.store())
  http.get('/admin/v1/limits/callers/:kind/:id', { ...canRead, schema: caller }, async (request) =>
    callers.caller(request, request.params),
  )
  http.post('/admin/v1/limits/callers/:kind/:id/unblock', { ...canManage, schema: unblock }, async (request) =>
    callers.unblock(request, request.params),
  )
}

/** Where requests go. */
function routingRoutes(http: Http, operations: RouteOperations, canRead: RouteShorthandOptions): void {
  const { list, match, upstreams } = routeSchemas
  http.get('/admin/v1/routes', { ...canRead, schema: list }, async () => operations.list())
  http.get('/admin/v1/routes/match', { ...canRead, schema: match }, async ({ query }) => operations.match(query))
  http.get('/admin/v1/upstreams', { ...canRead, schema: upstreams }, async () => operations.upstreams())
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
