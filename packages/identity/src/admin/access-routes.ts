import { type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import { endSession } from '../end-session.ts'
import { revocationTimes } from '../revocation-times.ts'
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
  http.get(`${path}/consents`, { schema: { ...doc("A user's consents", scope), params: byId } }, async (request) => {
    await check(request, scope)
    const consents = await parts.store.consents.ofUser(request.params.id)
    return {
      items: consents.map(({ clientId, scopes, resources, grantedAt }) => {
        return { client_id: clientId, scopes, resources, granted_at: new Date(grantedAt).toISOString() }
      }),
    }
  })
  const ofClient = Type.Object({ id: Type.String(), client_id: Type.String() })
  const withdraw = { ...doc('Withdraw a consent and its grants', scope, 204), params: ofClient }
  http.delete(`${path}/consents/:client_id`, { schema: withdraw }, async (request, reply) => {
    const caller = await check(request, scope)
    const { id, client_id: clientId } = request.params
    await parts.store.grants.withdraw(id, clientId, revocationTimes(parts))
    await changed(request, caller, 'consent withdrawn', { subject: id, clientId })
    return reply.code(204).send()
  })
}

function sessionRoutes(http: Http, { parts, check, changed }: Gate): void {
  http.get(`${path}/sessions`, { schema: { ...doc("A user's sessions", scope), params: byId } }, async (request) => {
    await check(request, scope)
    const sessions = await parts.store.sessions.ofUser(request.params.id, parts.clock.now())
    return {
      items: sessions.map((session) => ({
        id: session.id,
        user_agent: session.userAgent,
        address: session.address,
        created_at: new Date(session.createdAt).toISOString(),
        seen_at: new Date(session.seenAt).toISOString(),
      })),
    }
  })
  const ofSession = Type.Object({ id: Type.String(), session_id: Type.String({ format: 'uuid' }) })
  const end = { ...doc('End a session', scope, 204), params: ofSession }
  http.delete(`${path}/sessions/:session_id`, { schema: end }, async (request, reply) => {
    const caller = await check(request, scope)
    const { id, session_id } = request.params
    if (!(await endSession(parts, session_id, id))) throw new Problem(404, 'There is no such session.')
    await changed(request, caller, 'session ended', { subject: id })
    return reply.code(204).send()
  })
}
