import {
  createPage,
  defaultPageSize,
  entityTagOf,
  type Http,
  IfMatchHeaders,
  PageQueryById,
  pageMembers,
  pageSchema,
} from '@gatehouse/kit'
import { Type } from 'typebox'
import { ClientDeclaration, ClientPatch } from '../../config/declarations.ts'
import { type GrantType, grantTypes } from '../../model/client.ts'
import { OverlapBody } from '../overlap.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { clientGrantSchema, clientSchema, newClientSchema, planSchema, secretSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import {
  createClient,
  deleteClient,
  listClients,
  readClientPlan,
  readTaggedClient,
  rotateSecret,
  updateClient,
} from './clients.ts'
import { listClientGrants } from './grants.ts'

const scope = adminScopes.clients
const path = '/admin/v1/clients'

const ClientQuery = Type.Object(
  {
    ...pageMembers(),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The beginning of the id or of the name, in any case.',
      }),
    ),
    grant_type: Type.Optional(
      Type.Unsafe<GrantType>({ type: 'string', enum: [...grantTypes], description: 'A grant type that it may use.' }),
    ),
    scope: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'A scope that it may request.' })),
    policy: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'The policy that it has.' })),
  },
  { additionalProperties: false },
)

/** Clients: register, read, update, delete, rotate the secret. */
export function clientRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  grantRoutes(http, access)
  changingRoutes(http, access)
  secretRoute(http, access)
}

function readingRoutes(http: Http, { context, requireScope, authenticate }: AdminAccess): void {
  http.get(
    path,
    {
      schema: {
        ...describeRoute('clients.list', readScopes.clients, pageSchema(clientSchema)),
        querystring: ClientQuery,
      },
    },
    async (request) => {
      await requireScope(request, readScopes.clients)
      const { cursor = '', limit = defaultPageSize, q, grant_type: grantType, scope, policy } = request.query
      const clients = await listClients(context, cursor, limit, { q, grantType, scope, policy })
      return createPage(clients, request.query, (client) => client.client_id)
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...describeRoute('clients.get', readScopes.clients, clientSchema), params: byId } },
    async (request, reply) => {
      await requireScope(request, readScopes.clients)
      const { client, etag } = await readTaggedClient(context, request.params.id)
      return reply.header('etag', etag).send(client)
    },
  )
  const plan = { ...describeRoute('clients.getPlan', 'read:users', planSchema), params: byId }
  http.get(`${path}/:id/plan`, { schema: plan }, async (request) => {
    await requireScope(request, 'read:users')
    const { caller } = await authenticate(request)
    return readClientPlan(context, caller, request.params.id)
  })
}

function grantRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const schema = {
    ...describeRoute('clients.grants.list', readScopes.accounts, pageSchema(clientGrantSchema)),
    params: byId,
    querystring: PageQueryById,
  }
  http.get(`${path}/:id/grants`, { schema }, async (request) => {
    await requireScope(request, readScopes.accounts)
    const { cursor, limit = defaultPageSize } = request.query
    const grants = await listClientGrants(context, request.params.id, cursor, limit)
    return createPage(grants, request.query, ({ id }) => id)
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
    { schema: { ...describeRoute('clients.delete', scope), params: byId, headers: IfMatchHeaders } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      await deleteClient(context, by, request.params.id, request.headers['if-match'])
      return reply.code(204).send()
    },
  )
}

function secretRoute(http: Http, { context, requireRecentSignIn }: AdminAccess): void {
  const schema = { ...describeRoute('clients.rotateSecret', scope, secretSchema), params: byId, body: OverlapBody }
  const tagged = { ...schema, headers: IfMatchHeaders }
  http.post(`${path}/:id/secret`, { schema: tagged }, async (request) => {
    const by = await requireRecentSignIn(request, scope)
    const rotation = { ...request.body, ifMatch: request.headers['if-match'] }
    return rotateSecret(context, by, request.params.id, rotation)
  })
}
