import {
  createPage,
  defaultPageSize,
  entityTagOf,
  type Http,
  IfMatchHeaders,
  PageQuery,
  pageSchema,
} from '@gatehouse/kit'
import { ClientDeclaration, ClientPatch } from '../../config/declarations.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { clientSchema, newClientSchema, planSchema, secretSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import {
  createClient,
  deleteClient,
  listClients,
  readClient,
  readClientPlan,
  rotateSecret,
  updateClient,
} from './clients.ts'

const scope = adminScopes.clients
const path = '/admin/v1/clients'

/** Clients: register, read, update, delete, rotate the secret. */
export function clientRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  changingRoutes(http, access)
}

function readingRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  http.get(
    path,
    {
      schema: {
        ...describeRoute('clients.list', readScopes.clients, pageSchema(clientSchema)),
        querystring: PageQuery,
      },
    },
    async (request) => {
      await requireScope(request, readScopes.clients)
      const { cursor = '', limit = defaultPageSize } = request.query
      return createPage(await listClients(context, cursor, limit), request.query, (client) => client.client_id)
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...describeRoute('clients.get', readScopes.clients, clientSchema), params: byId } },
    async (request, reply) => {
      await requireScope(request, readScopes.clients)
      const client = await readClient(context, request.params.id)
      return reply.header('etag', entityTagOf(client)).send(client)
    },
  )
  const plan = { ...describeRoute('clients.getPlan', 'read:users', planSchema), params: byId }
  http.get(`${path}/:id/plan`, { schema: plan }, async (request) => {
    await requireScope(request, 'read:users')
    return readClientPlan(context, request.params.id)
  })
}

function changingRoutes(http: Http, { context, requireRecentSignIn }: AdminAccess): void {
  http.post(
    path,
    { schema: { ...describeRoute('clients.create', scope, newClientSchema, 201), body: ClientDeclaration } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      return reply.code(201).send(await createClient(context, by, request.body))
    },
  )
  const change = {
    ...describeRoute('clients.update', scope, clientSchema),
    params: byId,
    headers: IfMatchHeaders,
    body: ClientPatch,
  }
  http.patch(`${path}/:id`, { schema: change }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    const update = { ...request.body, ifMatch: request.headers['if-match'] }
    const client = await updateClient(context, by, request.params.id, update)
    return reply.header('etag', entityTagOf(client)).send(client)
  })
  http.delete(
    `${path}/:id`,
    { schema: { ...describeRoute('clients.delete', scope), params: byId } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      await deleteClient(context, by, request.params.id)
      return reply.code(204).send()
    },
  )
  http.post(
    `${path}/:id/secret`,
    { schema: { ...describeRoute('clients.rotateSecret', scope, secretSchema), params: byId } },
    async (request) => {
      const by = await requireRecentSignIn(request, scope)
      return rotateSecret(context, by, request.params.id)
    },
  )
}
