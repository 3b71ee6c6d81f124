import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { maskSession, shown } from '../masking.ts'
import { byId, doc, type Gate, idOf } from '../required-scope.ts'
import { consentAnswer, listAnswer, sessionAnswer } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { endSessionOf, listConsents, listSessions, withdrawConsent } from './access.ts'

const scope = adminScopes.users
const sessionScope = 'write:sessions'
const path = '/admin/v1/users/:id'

/** What a user let in, and where they are signed in. */
export function accessRoutes(http: Http, gate: Gate): void {
  consentRoutes(http, gate)
  sessionRoutes(http, gate)
}

function consentRoutes(http: Http, { parts, check }: Gate): void {
  http.get(
    `${path}/consents`,
    { schema: { ...doc('consents.list', readScopes.accounts, listAnswer(consentAnswer)), params: byId } },
    async (request) => {
      await check(request, readScopes.accounts)
      return { items: await listConsents(parts, request.params.id) }
    },
  )
  const ofClient = Type.Object({ ...byId.properties, client_id: idOf('The client.') })
  const withdraw = { ...doc('consents.withdraw', scope), params: ofClient }
  http.delete(`${path}/consents/:client_id`, { schema: withdraw }, async (request, reply) => {
    const by = await check(request, scope)
    await withdrawConsent(parts, by, request.params.id, request.params.client_id)
    return reply.code(204).send()
  })
}

function sessionRoutes(http: Http, { parts, check }: Gate): void {
  http.get(
    `${path}/sessions`,
    { schema: { ...doc('sessions.list', readScopes.accounts, listAnswer(sessionAnswer)), params: byId } },
    async (request) => {
      const by = await check(request, readScopes.accounts)
      const sessions = await listSessions(parts, request.params.id)
      return { items: sessions.map((session) => shown(by, session, maskSession)) }
    },
  )
  const session = Type.String({ format: 'uuid', description: 'The session.' })
  const ofSession = Type.Object({ ...byId.properties, session_id: session })
  const end = { ...doc('sessions.end', sessionScope), params: ofSession }
  http.delete(`${path}/sessions/:session_id`, { schema: end }, async (request, reply) => {
    const by = await check(request, sessionScope)
    await endSessionOf(parts, by, request.params.id, request.params.session_id)
    return reply.code(204).send()
  })
}
