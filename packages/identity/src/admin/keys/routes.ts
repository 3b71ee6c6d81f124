import {
  createPage,
  defaultPageSize,
  type Http,
  IfMatchHeaders,
  Problem,
  pageMembers,
  pageSchema,
  problemAnswer,
} from '@gatehouse/kit'
import { Type } from 'typebox'
import { OverlapBody } from '../overlap.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import {
  createApiKey,
  deleteApiKey,
  findApiKeys,
  listApiKeys,
  readApiKey,
  resolveApiKey,
  rotateApiKey,
} from './api-keys.ts'
import { apiKeySchema, identifiedKeySchema, newApiKeySchema, resolvedKeySchema } from './responses.ts'

const NewApiKey = Type.Object(
  {
    owner: Type.String({ maxLength: 128, description: 'A user or a client.' }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    scopes: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 100 })),
    plan: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { additionalProperties: false },
)

const KeyQuery = Type.Object(
  {
    ...pageMembers(Type.String({ format: 'uuid', description: 'The `next` of the previous page.' })),
    owner: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'The id of a user or a client.' })),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          'The beginning of the name, or of the key. Of a key only its prefix is read: do not send a whole one.',
      }),
    ),
  },
  { additionalProperties: false },
)

const KeySearch = Type.Object(
  {
    key: Type.String({ pattern: '^gk_[\\w-]{43}$', description: 'A whole key. No log has it, and nothing keeps it.' }),
  },
  { additionalProperties: false },
)

const scope = adminScopes.apiKeys
const path = '/admin/v1/api-keys'

/** API keys: create, list, read, rotate, delete, resolve. */
export function apiKeyRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  changingRoutes(http, access)
  rotationRoute(http, access)
  resolveRoute(http, access)
}

function readingRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const list = describeRoute('apiKeys.list', readScopes.clients, pageSchema(apiKeySchema))
  http.get(path, { schema: { ...list, querystring: KeyQuery } }, async (request) => {
    await requireScope(request, readScopes.clients)
    const { cursor, limit = defaultPageSize, owner, q } = request.query
    return createPage(await listApiKeys(context, cursor, limit, { owner, q }), request.query, (key) => key.id)
  })
  const search = describeRoute(
    'apiKeys.identify',
    readScopes.clients,
    Type.Object({ items: Type.Array(identifiedKeySchema) }),
  )
  http.post(`${path}/search`, { schema: { ...search, body: KeySearch } }, async (request) => {
    await requireScope(request, readScopes.clients)
    return { items: await findApiKeys(context, request.body.key) }
  })
  const read = { ...describeRoute('apiKeys.get', readScopes.clients, apiKeySchema), params: byId }
  http.get(`${path}/:id`, { schema: read }, async (request, reply) => {
    await requireScope(request, readScopes.clients)
    const { key, etag } = await readApiKey(context, request.params.id)
    return reply.header('etag', etag).send(key)
  })
}

function changingRoutes(http: Http, { context, requireRecentSignIn }: AdminAccess): void {
  const create = { ...describeRoute('apiKeys.create', scope, newApiKeySchema, 201), body: NewApiKey }
  http.post(path, { schema: create }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    return reply.code(201).send(await createApiKey(context, by, request.body))
  })
  const remove = { ...describeRoute('apiKeys.delete', scope), params: byId, headers: IfMatchHeaders }
  http.delete(`${path}/:id`, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    await deleteApiKey(context, by, request.params.id, request.headers['if-match'])
    return reply.code(204).send()
  })
}

function rotationRoute(http: Http, { context, requireRecentSignIn }: AdminAccess): void {
  const schema = {
    ...describeRoute('apiKeys.rotate', scope, newApiKeySchema),
    params: byId,
    headers: IfMatchHeaders,
    body: OverlapBody,
  }
  http.post(`${path}/:id/rotate`, { schema }, async (request) => {
    const by = await requireRecentSignIn(request, scope)
    return rotateApiKey(context, by, request.params.id, { ...request.body, ifMatch: request.headers['if-match'] })
  })
}

/** Resolves a key to its owner, for gateways in other processes. */
function resolveRoute(http: Http, { context, requireScope }: AdminAccess): void {
  const keyBody = Type.Object({ key: Type.String({ maxLength: 200 }) }, { additionalProperties: false })
  const response: object = { 200: resolvedKeySchema, 404: problemAnswer('The key is not a valid API key.') }
  const resolve = { ...describeRoute('apiKeys.resolve', 'read:api-keys'), body: keyBody, response }
  http.post(`${path}/resolve`, { schema: resolve }, async (request) => {
    await requireScope(request, 'read:api-keys')
    const found = await resolveApiKey(context, request.body.key)
    if (found === undefined) throw new Problem(404, 'This is not a valid API key.')
    return found
  })
}
