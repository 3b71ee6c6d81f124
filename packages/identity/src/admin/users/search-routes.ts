import { Readable } from 'node:stream'
import { createPage, defaultPageSize, type Http, pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { UserFilter } from '../../store/index.ts'
import { type Authority, auditChange } from '../authority.ts'
import { maskUnlessPermitted, maskUser, readsPersonalData, refuseGuesses } from '../masking.ts'
import { type AdminAccess, describeRoute } from '../required-scope.ts'
import { userSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import {
  auditedQuery,
  filterMembers,
  isAddressLike,
  openFilterMembers,
  parseFilter,
  parseOpenFilter,
  searchUsers,
} from './search.ts'
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
    const filter = visibleTo(by, parseOpenFilter(query))
    const users = await searchUsers(context, filter, cursor, limit)
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
    refuseGuesses(by, 'the beginning of an address', isAddressLike(query.q))
    const filter = visibleTo(by, parseFilter(query))
    const users = await searchUsers(context, filter, cursor, limit)
    return createPage(
      users.map((user) => maskUnlessPermitted(by, user, maskUser)),
      request.body,
      (user) => user.id,
    )
  })
  const all = { ...describeRoute('users.export', adminScopes.users, lines), body: Exported }
  http.post('/admin/v1/user-exports', { schema: all }, async (request, reply) => {
    const by = await requireRecentSignIn(request, adminScopes.users)
    refuseGuesses(by, 'the beginning of an address', isAddressLike(request.body.q))
    const filter = visibleTo(by, parseFilter(request.body))
    const target = { type: 'users', id: 'export' }
    await auditChange(context, by, { action: 'users.export', target, after: auditedQuery(request.body) })
    const read = (after: string) => searchUsers(context, filter, after, exportBatch)
    const exported = exportUsers(read, (user) => maskUnlessPermitted(by, user, maskUser))
    return reply.type('application/x-ndjson').send(Readable.from(exported))
  })
}

/** The filter, which finds for those who see names masked by no name that is. */
function visibleTo(by: Authority, filter: UserFilter): UserFilter {
  return readsPersonalData(by) ? filter : { ...filter, isMasked: true }
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
