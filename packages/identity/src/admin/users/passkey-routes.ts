import { type Http, PageQuery, pageSchema, selectPage } from '@gatehouse/kit'
import { Type } from 'typebox'
import { maskPasskey, maskUnlessPermitted } from '../masking.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { passkeySchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { listPasskeys, removePasskey } from './passkeys.ts'

const path = '/admin/v1/users/:id/passkeys'

/** The passkeys of a user: list, remove. */
export function passkeyRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const scope = adminScopes.users
  const list = {
    ...describeRoute('users.passkeys.list', readScopes.accounts, pageSchema(passkeySchema)),
    params: byId,
    querystring: PageQuery,
  }
  http.get(path, { schema: list }, async (request) => {
    const by = await requireScope(request, readScopes.accounts)
    const passkeys = await listPasskeys(context, request.params.id)
    const page = selectPage(passkeys, request.query, ({ created_at, id }) => `${created_at} ${id}`, 'descending')
    return { ...page, items: page.items.map((passkey) => maskUnlessPermitted(by, passkey, maskPasskey)) }
  })
  const passkey = Type.String({ format: 'uuid', description: 'The passkey.' })
  const ofPasskey = Type.Object({ ...byId.properties, passkey_id: passkey })
  const remove = { ...describeRoute('users.passkeys.remove', scope), params: ofPasskey }
  http.delete(`${path}/:passkey_id`, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    await removePasskey(context, by, request.params.id, request.params.passkey_id)
    return reply.code(204).send()
  })
}
