import { Readable } from 'node:stream'
import { createPage, defaultPageSize, type Http, pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { auditChange } from '../authority.ts'
import { maskUnlessPermitted, maskUser } from '../masking.ts'
import { type AdminAccess, describeRoute } from '../required-scope.ts'
import { userSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { auditedQuery, filterMembers, openFilterMembers, parseFilter, parseOpenFilter, searchUsers } from './search.ts'
import type { UserResponse } from './users.ts'

const path = '/admin/v1/users'
const exportBatch = 500
const lines = {
  description: 'One user per line.',
  content: { 'application/x-ndjson': { schema: Type.String() } },
}

const closed = { additionalProperties: false }
const Listed = Type.Object({ ...openFilterMembers, ...pageMembers() }, closed)
const Searched = Type.Object({ ...filterMembers, ...pageMembers() }, closed)
const Exported = Type.Object(filterMembers, closed)

/** Finding users: a list whose filters say nothing about a person, a search by body, and an export. */
export function userSearchRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const list = describeRoute('users.list', readScopes.accounts, pageSchema(userSchema))
  http.get(path, { schema: { ...list, querystring: Listed } }, async (request) => {
    const by = await requireScope(request, readScopes.accounts)
    const { cursor = '', limit = defaultPageSize, ...query } = request.query
    const users = await searchUsers(context, parseOpenFilter(query), cursor, limit)
    return createPage(
      users.map((user) => maskUnlessPermitted(by, user, maskUser)),
      request.query,
      (user) => user.id,
    )
  })
  const search = describeRoute('users.search', readScopes.accounts, pageSchema(userSchema))
  http.post(`${path}/search`, { schema: { ...search, body: Searched } }, async (request) => {
    const by = await requireScope(request, readScopes.accounts)
    const { cursor = '', limit = defaultPageSize, ...query } = request.body
    const users = await searchUsers(context, parseFilter(query), cursor, limit)
    return createPage(
      users.map((user) => maskUnlessPermitted(by, user, maskUser)),
      request.body,
      (user) => user.id,
    )
  })
  const all = { ...describeRoute('users.export', adminScopes.users, lines), body: Exported }
  http.post('/admin/v1/user-exports', { schema: all }, async (request, reply) => {
    const by = await requireRecentSignIn(request, adminScopes.users)
    const filter = parseFilter(request.body)
    const target = { type: 'users', id: 'export' }
    await auditChange(context, by, { action: 'users.export', target, after: auditedQuery(request.body) })
    const read = (after: string) => searchUsers(context, filter, after, exportBatch)
    const exported = exportUsers(read, (user) => maskUnlessPermitted(by, user, maskUser))
    return reply.type('application/x-ndjson').send(Readable.from(exported))
  })
}

async function* exportUsers(
  read: (after: string) => Promise<UserResponse[]>,
  answer: (user: UserResponse) => UserResponse,
): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const users = await read(after)
    if (users.length > 0) yield `${users.map((user) => JSON.stringify(answer(user))).join('\n')}\n`
    if (users.length < exportBatch) return
    after = users.at(-1)?.id ?? after
  }
}
