import {
  createPage,
  defaultPageSize,
  type Http,
  PageQuery,
  PageQueryById,
  Problem,
  pageSchema,
  problemAnswer,
  selectPage,
} from '@gatehouse/kit'
import { Type } from 'typebox'
import { type SigningAlgorithm, signingAlgorithms } from '../../model/client.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import {
  apiKeySchema,
  newApiKeySchema,
  newSigningKeySchema,
  resolvedKeySchema,
  signingKeySchema,
} from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { createApiKey, deleteApiKey, listApiKeys, resolveApiKey } from './api-keys.ts'
import { listSigningKeys, rotateSigningKey } from './signing-keys.ts'

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

/** API keys: create, list, delete, resolve. */
export function apiKeyRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const scope = adminScopes.apiKeys
  const path = '/admin/v1/api-keys'
  http.get(
    path,
    {
      schema: {
        ...describeRoute('apiKeys.list', readScopes.clients, pageSchema(apiKeySchema)),
        querystring: PageQueryById,
      },
    },
    async (request) => {
      await requireScope(request, readScopes.clients)
      const { cursor, limit = defaultPageSize } = request.query
      return createPage(await listApiKeys(context, cursor, limit), request.query, (key) => key.id)
    },
  )
  http.post(
    path,
    { schema: { ...describeRoute('apiKeys.create', scope, newApiKeySchema, 201), body: NewApiKey } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      return reply.code(201).send(await createApiKey(context, by, request.body))
    },
  )
  http.delete(
    `${path}/:id`,
    { schema: { ...describeRoute('apiKeys.delete', scope), params: byId } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      await deleteApiKey(context, by, request.params.id)
      return reply.code(204).send()
    },
  )
  resolveRoute(http, { context, requireScope })
}

/** Resolves a key to its owner, for gateways in other processes. */
function resolveRoute(http: Http, { context, requireScope }: Pick<AdminAccess, 'context' | 'requireScope'>): void {
  const keyBody = Type.Object({ key: Type.String({ maxLength: 200 }) }, { additionalProperties: false })
  const response: object = { 200: resolvedKeySchema, 404: problemAnswer('The key is not a valid API key.') }
  const resolve = { ...describeRoute('apiKeys.resolve', 'read:api-keys'), body: keyBody, response }
  http.post('/admin/v1/api-keys/resolve', { schema: resolve }, async (request) => {
    await requireScope(request, 'read:api-keys')
    const found = await resolveApiKey(context, request.body.key)
    if (found === undefined) throw new Problem(404, 'This is not a valid API key.')
    return found
  })
}

/** Signing keys: list and rotate. */
export function signingKeyRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const scope = adminScopes.signingKeys
  const path = '/admin/v1/signing-keys'
  http.get(
    path,
    {
      schema: {
        ...describeRoute('signingKeys.list', readScopes.signingKeys, pageSchema(signingKeySchema)),
        querystring: PageQuery,
      },
    },
    async (request) => {
      await requireScope(request, readScopes.signingKeys)
      return selectPage(
        listSigningKeys(context),
        request.query,
        ({ created_at, kid }) => `${created_at} ${kid}`,
        'descending',
      )
    },
  )
  const body = Type.Object(
    {
      alg: Type.Unsafe<SigningAlgorithm>({ type: 'string', enum: [...signingAlgorithms] }),
      compromised: Type.Optional(Type.Boolean({ description: 'Revokes the old key and its tokens at once.' })),
    },
    { additionalProperties: false },
  )
  http.post(
    `${path}/rotate`,
    { schema: { ...describeRoute('signingKeys.rotate', scope, newSigningKeySchema), body } },
    async (request) => {
      const by = await requireRecentSignIn(request, scope)
      const { alg, compromised = false } = request.body
      return { kid: await rotateSigningKey(context, by, alg, compromised), alg }
    },
  )
}
