import { type Http, PageQuery, pageSchema, selectPage } from '@gatehouse/kit'
import { Type } from 'typebox'
import { type SigningAlgorithm, signingAlgorithms } from '../../model/client.ts'
import { type AdminAccess, describeRoute } from '../required-scope.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { newSigningKeySchema, signingKeySchema } from './responses.ts'
import { listSigningKeys, rotateSigningKey } from './signing-keys.ts'

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
