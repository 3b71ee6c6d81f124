import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { operation } from '../../http/operations.ts'
import { maskMember, shown } from '../masking.ts'
import { doc, type Gate, idOf, pageOf, pageQuery } from '../required-scope.ts'
import { callerAnswer, listAnswer, memberAnswer, pageAnswer, roleAnswer } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { changeRole } from '../users/users.ts'
import { aboutCaller, listMembers, listRoles, readMember, roleNamed } from './roles.ts'

const path = '/admin/v1/roles'
/** Who administers belongs to accountability: whoever reads the audit trail may know. */
const reading = [readScopes.audit, adminScopes.roles]
const role = Type.String({ minLength: 1, maxLength: 64, description: 'A management role.' })
const byRole = Type.Object({ role })
const byMember = Type.Object({ role, user_id: idOf('The user.') })

/** Management roles, who holds them, and what the caller may do. */
export function roleRoutes(http: Http, gate: Gate): void {
  readingRoutes(http, gate)
  memberRoutes(http, gate)
  callerRoute(http, gate)
}

function readingRoutes(http: Http, { parts, check }: Gate): void {
  http.get(path, { schema: doc('roles.list', reading, listAnswer(roleAnswer)) }, async (request) => {
    await check(request, reading)
    return { items: listRoles() }
  })
  const members = { ...doc('roleMembers.list', reading, pageAnswer(memberAnswer)), params: byRole }
  http.get(`${path}/:role/members`, { schema: { ...members, querystring: pageQuery } }, async (request) => {
    const by = await check(request, reading)
    const { after = '', limit = 50 } = request.query
    const found = await listMembers(parts, roleNamed(request.params.role), after, limit)
    return pageOf(
      found.map((member) => shown(by, member, maskMember)),
      limit,
      (member) => member.user_id,
    )
  })
}

function memberRoutes(http: Http, { parts, check }: Gate): void {
  const member = `${path}/:role/members/:user_id`
  const read = { ...doc('roleMembers.get', reading, memberAnswer), params: byMember }
  http.get(member, { schema: read }, async (request) => {
    const by = await check(request, reading)
    const { role, user_id } = request.params
    return shown(by, await readMember(parts, roleNamed(role), user_id), maskMember)
  })
  const grant = { ...doc('roleMembers.add', adminScopes.roles), params: byMember }
  http.put(member, { schema: grant }, async (request, reply) => {
    const by = await check(request, adminScopes.roles)
    await changeRole(parts, by, request.params.user_id, { role: request.params.role, granted: true })
    return reply.code(204).send()
  })
  const revoke = { ...doc('roleMembers.remove', adminScopes.roles), params: byMember }
  http.delete(member, { schema: revoke }, async (request, reply) => {
    const by = await check(request, adminScopes.roles)
    await changeRole(parts, by, request.params.user_id, { role: request.params.role, granted: false })
    return reply.code(204).send()
  })
}

function callerRoute(http: Http, { parts, identify }: Gate): void {
  const schema = {
    tags: ['management'],
    ...operation('caller.get'),
    security: [{ bearer: [] }],
    response: { 200: callerAnswer },
  }
  http.get('/admin/v1/me', { schema }, async (request) => {
    const { caller, by } = await identify(request)
    return aboutCaller(parts, caller, by)
  })
}
