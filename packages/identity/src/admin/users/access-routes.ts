import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { maskSession, maskUnlessPermitted } from '../masking.ts'
import { type AdminAccess, byId, describeRoute, idParameter } from '../required-scope.ts'
import { consentSchema, factorsSchema, listSchema, sessionSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { endUserSession, listConsents, listSessions, withdrawConsent } from './access.ts'
import { readFactors, resetFactors } from './factors.ts'

const scope = adminScopes.users
const sessionScope = 'write:sessions'
const path = '/admin/v1/users/:id'

/** The consents, the sessions and the second factors of a user. */
export function accessRoutes(http: Http, access: AdminAccess): void {
  consentRoutes(http, access)
  sessionRoutes(http, access)
  factorRoutes(http, access)
}

function factorRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  http.get(
    `${path}/factors`,
    { schema: { ...describeRoute('factors.get', readScopes.accounts, factorsSchema), params: byId } },
    async (request) => {
      await requireScope(request, readScopes.accounts)
      return readFactors(context, request.params.id)
    },
  )
  http.delete(
    `${path}/factors`,
    { schema: { ...describeRoute('factors.reset', scope), params: byId } },
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
    { schema: { ...describeRoute('consents.list', readScopes.accounts, listSchema(consentSchema)), params: byId } },
    async (request) => {
      await requireScope(request, readScopes.accounts)
      return { items: await listConsents(context, request.params.id) }
    },
  )
  const ofClient = Type.Object({ ...byId.properties, client_id: idParameter('The client.') })
  const withdraw = { ...describeRoute('consents.withdraw', scope), params: ofClient }
  http.delete(`${path}/consents/:client_id`, { schema: withdraw }, async (request, reply) => {
    const by = await requireScope(request, scope)
    await withdrawConsent(context, by, request.params.id, request.params.client_id)
    return reply.code(204).send()
  })
}

function sessionRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  http.get(
    `${path}/sessions`,
    { schema: { ...describeRoute('sessions.list', readScopes.accounts, listSchema(sessionSchema)), params: byId } },
    async (request) => {
      const by = await requireScope(request, readScopes.accounts)
      const sessions = await listSessions(context, request.params.id)
      return { items: sessions.map((session) => maskUnlessPermitted(by, session, maskSession)) }
    },
  )
  const session = Type.String({ format: 'uuid', description: 'The session.' })
  const ofSession = Type.Object({ ...byId.properties, session_id: session })
  const end = { ...describeRoute('sessions.end', sessionScope), params: ofSession }
  http.delete(`${path}/sessions/:session_id`, { schema: end }, async (request, reply) => {
    const by = await requireScope(request, sessionScope)
    await endUserSession(context, by, request.params.id, request.params.session_id)
    return reply.code(204).send()
  })
}
