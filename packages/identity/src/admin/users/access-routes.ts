import { type Http, PageQuery, pageSchema, selectPage } from '@gatehouse/kit'
import { Type } from 'typebox'
import { maskGrant, maskSession, maskUnlessPermitted } from '../masking.ts'
import { type AdminAccess, byId, describeRoute, idParameter } from '../required-scope.ts'
import { consentSchema, factorsSchema, grantSchema, sessionSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { findOwnSession } from '../sessions/sessions.ts'
import { endGrant, endUserSession, listConsents, listGrants, listSessions, withdrawConsent } from './access.ts'
import { readFactors, resetFactors } from './factors.ts'

const scope = adminScopes.users
const sessionScope = 'write:sessions'
const path = '/admin/v1/users/:id'

/** The consents, the grants, the sessions and the second factors of a user. */
export function accessRoutes(http: Http, access: AdminAccess): void {
  consentRoutes(http, access)
  grantRoutes(http, access)
  sessionRoutes(http, access)
  factorRoutes(http, access)
}

function factorRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  http.get(
    `${path}/factors`,
    { schema: { ...describeRoute('users.factors.get', readScopes.accounts, factorsSchema), params: byId } },
    async (request) => {
      await requireScope(request, readScopes.accounts)
      return readFactors(context, request.params.id)
    },
  )
  http.delete(
    `${path}/factors`,
    { schema: { ...describeRoute('users.factors.reset', scope), params: byId } },
    async (request, reply) => {
      const by = await requireRecentSignIn(request, scope)
      await resetFactors(context, by, request.params.id)
      return reply.code(204).send()
    },
  )
}

function consentRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  http.get(
    `${path}/consents`,
    {
      schema: {
        ...describeRoute('users.consents.list', readScopes.accounts, pageSchema(consentSchema)),
        params: byId,
        querystring: PageQuery,
      },
    },
    async (request) => {
      await requireScope(request, readScopes.accounts)
      const consents = await listConsents(context, request.params.id)
      return selectPage(
        consents,
        request.query,
        ({ granted_at, client_id }) => `${granted_at} ${client_id}`,
        'descending',
      )
    },
  )
  const ofClient = Type.Object({ ...byId.properties, client_id: idParameter('The client.') })
  const withdraw = { ...describeRoute('users.consents.withdraw', scope), params: ofClient }
  http.delete(`${path}/consents/:client_id`, { schema: withdraw }, async (request, reply) => {
    const by = await requireScope(request, scope)
    await withdrawConsent(context, by, request.params.id, request.params.client_id)
    return reply.code(204).send()
  })
}

function grantRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const list = {
    ...describeRoute('users.grants.list', readScopes.accounts, pageSchema(grantSchema)),
    params: byId,
    querystring: PageQuery,
  }
  http.get(`${path}/grants`, { schema: list }, async (request) => {
    const by = await requireScope(request, readScopes.accounts)
    const grants = await listGrants(context, request.params.id)
    const page = selectPage(grants, request.query, ({ created_at, id }) => `${created_at} ${id}`, 'descending')
    return { ...page, items: page.items.map((grant) => maskUnlessPermitted(by, grant, maskGrant)) }
  })
  const grant = Type.String({ format: 'uuid', description: 'The grant.' })
  const end = {
    ...describeRoute('users.grants.end', sessionScope),
    params: Type.Object({ ...byId.properties, grant_id: grant }),
  }
  http.delete(`${path}/grants/:grant_id`, { schema: end }, async (request, reply) => {
    const by = await requireScope(request, sessionScope)
    await endGrant(context, by, request.params.id, request.params.grant_id)
    return reply.code(204).send()
  })
}

function sessionRoutes(http: Http, { context, requireScope, authenticate }: AdminAccess): void {
  http.get(
    `${path}/sessions`,
    {
      schema: {
        ...describeRoute('users.sessions.list', readScopes.accounts, pageSchema(sessionSchema)),
        params: byId,
        querystring: PageQuery,
      },
    },
    async (request) => {
      const by = await requireScope(request, readScopes.accounts)
      const own = await findOwnSession(context, (await authenticate(request)).caller)
      const sessions = await listSessions(context, request.params.id, own)
      const page = selectPage(sessions, request.query, ({ seen_at, id }) => `${seen_at} ${id}`, 'descending')
      return { ...page, items: page.items.map((session) => maskUnlessPermitted(by, session, maskSession)) }
    },
  )
  const session = Type.String({ format: 'uuid', description: 'The session.' })
  const ofSession = Type.Object({ ...byId.properties, session_id: session })
  const end = { ...describeRoute('users.sessions.end', sessionScope), params: ofSession }
  http.delete(`${path}/sessions/:session_id`, { schema: end }, async (request, reply) => {
    const by = await requireScope(request, sessionScope)
    await endUserSession(context, by, request.params.id, request.params.session_id)
    return reply.code(204).send()
  })
}
