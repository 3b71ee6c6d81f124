import { entityTagOf, type Http, IfMatchHeaders, PageQuery, pageSchema, selectPage } from '@gatehouse/kit'
import { ConnectionDeclaration, ConnectionPatch } from '../../config/connections.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { connectionSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { createConnection, deleteConnection, listConnections, readConnection, updateConnection } from './connections.ts'

const scope = adminScopes.connections
const path = '/admin/v1/connections'

/**
 * Connections: create, read, update, delete. Whoever may change them can sign in as any linked user, so only owners may.
 */
export function connectionRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const list = describeRoute('connections.list', readScopes.clients, pageSchema(connectionSchema))
  http.get(path, { schema: { ...list, querystring: PageQuery } }, async (request) => {
    await requireScope(request, readScopes.clients)
    return selectPage(await listConnections(context), request.query, ({ id }) => id)
  })
  const read = { ...describeRoute('connections.get', readScopes.clients, connectionSchema), params: byId }
  http.get(`${path}/:id`, { schema: read }, async (request, reply) => {
    await requireScope(request, readScopes.clients)
    const connection = await readConnection(context, request.params.id)
    return reply.header('etag', entityTagOf(connection)).send(connection)
  })
  const create = { ...describeRoute('connections.create', scope, connectionSchema, 201), body: ConnectionDeclaration }
  http.post(path, { schema: create }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    return reply.code(201).send(await createConnection(context, by, request.body))
  })
  const change = {
    ...describeRoute('connections.update', scope, connectionSchema),
    params: byId,
    headers: IfMatchHeaders,
    body: ConnectionPatch,
  }
  http.patch(`${path}/:id`, { schema: change }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    const update = { ...request.body, ifMatch: request.headers['if-match'] }
    const connection = await updateConnection(context, by, request.params.id, update)
    return reply.header('etag', entityTagOf(connection)).send(connection)
  })
  const remove = { ...describeRoute('connections.delete', scope), params: byId }
  http.delete(`${path}/:id`, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    await deleteConnection(context, by, request.params.id)
    return reply.code(204).send()
  })
}
