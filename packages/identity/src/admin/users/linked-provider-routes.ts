import { type Http, PageQuery, pageSchema, selectPage } from '@gatehouse/kit'
import { Type } from 'typebox'
import { maskLinkedProvider, maskUnlessPermitted } from '../masking.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { linkedProviderSchema, removedProviderSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { listLinkedProviders, removeLinkedProvider } from './linked-providers.ts'

const path = '/admin/v1/users/:id/providers'

/** The accounts at other identity providers of a user: list, remove. */
export function linkedProviderRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const scope = adminScopes.users
  const list = {
    ...describeRoute('users.providers.list', readScopes.accounts, pageSchema(linkedProviderSchema)),
    params: byId,
    querystring: PageQuery,
  }
  http.get(path, { schema: list }, async (request) => {
    const by = await requireScope(request, readScopes.accounts)
    const links = await listLinkedProviders(context, request.params.id)
    const page = selectPage(links, request.query, ({ linked_at, id }) => `${linked_at} ${id}`, 'descending')
    return { ...page, items: page.items.map((link) => maskUnlessPermitted(by, link, maskLinkedProvider)) }
  })
  const link = Type.String({ format: 'uuid', description: 'The link.' })
  const ofLink = Type.Object({ ...byId.properties, link_id: link })
  const remove = { ...describeRoute('users.providers.remove', scope, removedProviderSchema), params: ofLink }
  http.delete(`${path}/:link_id`, { schema: remove }, async (request) => {
    const by = await requireRecentSignIn(request, scope)
    return removeLinkedProvider(context, by, request.params.id, request.params.link_id)
  })
}
