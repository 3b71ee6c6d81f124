import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { endSessionOf, listConsents, listSessions, withdrawConsent } from './access.ts'
import { consentAnswer, listAnswer, sessionAnswer } from './answers.ts'
import { byId, doc, type Gate } from './gate.ts'
import { adminScopes } from './scopes.ts'

const scope = adminScopes.users
const path = '/admin/v1/users/:id'

/** What a user let in, and where they are signed in. */
export function accessRoutes(http: Http, gate: Gate): void {
  consentRoutes(http, gate)
  sessionRoutes(http, gate)
}

function consentRoutes(http: Http, { parts, check, changed }: Gate): void {
  http.get(
    `${path}/consents`,
    { schema: { ...doc("A user's consents", scope, listAnswer(consentAnswer)), params: byId } },
    async (request) => {
      await check(request, scope)
      return { items: await listConsents(parts, request.params.id) }
    },
  )
  const ofClient = Type.Object({ id: Type.String(), client_id: Type.String() })
  const withdraw = { ...doc('Withdraw a consent and its grants', scope), params: ofClient }
  http.delete(`${path}/consents/:client_id`, { schema: withdraw }, async (request, reply) => {
    const caller = await check(request, scope)
    const { id, client_id: clientId } = request.params
    await withdrawConsent(parts, id, clientId)
    await changed(request, caller, 'consent withdrawn', { subject: id, clientId })
    return reply.code(204).send()
  })
}

function sessionRoutes(http: Http, { parts, check, changed }: Gate): void {
  http.get(
    `${path}/sessions`,
    { schema: { ...doc("A user's sessions", scope, listAnswer(sessionAnswer)), params: byId } },
    async (request) => {
      await check(request, scope)
      return { items: await listSessions(parts, request.params.id) }
    },
  )
  const ofSession = Type.Object({ id: Type.String(), session_id: Type.String({ format: 'uuid' }) })
  const end = { ...doc('End a session', scope), params: ofSession }
  http.delete(`${path}/sessions/:session_id`, { schema: end }, async (request, reply) => {
    const caller = await check(request, scope)
    const { id, session_id } = request.params
    await endSessionOf(parts, id, session_id)
    await changed(request, caller, 'session ended', { subject: id })
    return reply.code(204).send()
  })
}
