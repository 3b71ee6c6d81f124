import { createPage, defaultPageSize, type Http, Problem, pageMembers, pageSchema } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { SessionFilter } from '../../store/index.ts'
import { maskSession, maskUnlessPermitted, refuseGuesses } from '../masking.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { endedSessionsSchema, sessionSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import {
  cursorOf,
  cursorPattern,
  endSelectedSessions,
  endSessionsOfUser,
  findOwnSession,
  formatSession,
  parseCursor,
} from './sessions.ts'

const path = '/admin/v1/sessions'
const sessionScope = 'write:sessions'

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 256, description }))
const members = {
  user_id: text('Only sessions of this user.'),
  client_id: text('Only sessions in which this client was used.'),
  address: text('Only sessions that were begun, or renewed, from this IP address.'),
}
const Cursor = Type.String({ pattern: cursorPattern, description: 'The `next` of the previous page.' })
const Listed = Type.Object(
  {
    ...members,
    id: Type.Optional(Type.String({ format: 'uuid', description: 'Only the session with this id.' })),
    is_new: Type.Optional(Type.Boolean({ description: 'Only sessions at a new address or in a new browser.' })),
    ...pageMembers(Cursor),
  },
  { additionalProperties: false },
)
const Ended = Type.Object(
  { ...members, dry_run: Type.Optional(Type.Boolean({ description: 'Counts the sessions and ends none.' })) },
  { additionalProperties: false },
)

/** The sessions of all users: listed by filters, ended by a filter, or all of one user. */
export function sessionRoutes(http: Http, access: AdminAccess): void {
  const { context, requireScope, requireRecentSignIn, authenticate } = access
  const list = {
    ...describeRoute('sessions.list', readScopes.accounts, pageSchema(sessionSchema)),
    querystring: Listed,
  }
  http.get(path, { schema: list }, async (request) => {
    const by = await requireScope(request, readScopes.accounts)
    refuseGuesses(by, 'address', request.query.address)
    const own = await findOwnSession(context, (await authenticate(request)).caller)
    const { cursor, limit = defaultPageSize, id, is_new: isNew, ...query } = request.query
    const after = parseCursor(cursor)
    const filter = { ...parseFilter(query), id, isNew: isNew === true }
    const found = await context.store.sessionDirectory.list(filter, after, limit, context.clock.now())
    const items = found.map((session) => maskUnlessPermitted(by, formatSession(session, own), maskSession))
    return createPage(items, request.query, cursorOf)
  })
  const some = { ...describeRoute('sessions.endSelected', adminScopes.users, endedSessionsSchema), querystring: Ended }
  http.delete(path, { schema: some }, async (request) => {
    const by = await requireRecentSignIn(request, adminScopes.users)
    refuseGuesses(by, 'address', request.query.address)
    const { dry_run: dryRun = false, ...query } = request.query
    if (Object.keys(query).length === 0)
      throw new Problem(400, 'Say which: at least one of user_id, client_id and address is needed.')
    const except = await findOwnSession(context, (await authenticate(request)).caller)
    return endSelectedSessions(context, by, { filter: { ...parseFilter(query), except }, dryRun })
  })
  const ended = Type.Object({ ended: Type.Integer({ minimum: 0 }) })
  const all = { ...describeRoute('users.sessions.endAll', sessionScope, ended), params: byId }
  http.delete('/admin/v1/users/:id/sessions', { schema: all }, async (request) => {
    const by = await requireScope(request, sessionScope)
    return { ended: await endSessionsOfUser(context, by, request.params.id) }
  })
}

type Filter = Omit<Static<typeof Ended>, 'dry_run'>

function parseFilter({ user_id: userId, client_id: clientId, address }: Filter): SessionFilter {
  return { userId, clientId, address }
}
