import {
  createPage,
  defaultPageSize,
  type Http,
  IfMatchHeaders,
  PageQuery,
  pageSchema,
  selectPage,
} from '@gatehouse/kit'
import { Type } from 'typebox'
import { operation } from '../../http/operations/index.ts'
import { maskMember, maskUnlessPermitted } from '../masking.ts'
import { type AdminAccess, describeRoute, idParameter } from '../required-scope.ts'
import { callerSchema, memberSchema, roleSchema } from '../responses.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { changeRole, readTaggedUser } from '../users/users.ts'
import { putRole, readRole } from './role-scopes.ts'
import { describeCaller, listMembers, listRoles, parseRole, readMember } from './roles.ts'

const path = '/admin/v1/roles'
/** Who administers is a matter of accountability, so readers of the audit trail may see it. */
const reading = [readScopes.audit, adminScopes.roles]
const role = Type.String({ minLength: 1, maxLength: 64, description: 'A management role.' })
const byRole = Type.Object({ role })
const RoleBody = Type.Object(
  {
    scopes: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 100,
      uniqueItems: true,
      description: 'Management scopes. `admin:roles` and `admin:connections` are for owners alone.',
      examples: [['read:accounts', 'write:sessions']],
    }),
  },
  { additionalProperties: false },
)
const byMember = Type.Object({ role, user_id: idParameter('The user.') })

/** Management roles, their members, and what the caller may do. */
export function roleRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  scopeRoutes(http, access)
  memberRoutes(http, access)
  callerRoute(http, access)
}

function readingRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const list = describeRoute('roles.list', reading, pageSchema(roleSchema))
  http.get(path, { schema: { ...list, querystring: PageQuery } }, async (request) => {
    await requireScope(request, reading)
    return selectPage(await listRoles(context), request.query, ({ role }) => role)
  })
  const members = { ...describeRoute('roles.members.list', reading, pageSchema(memberSchema)), params: byRole }
  http.get(`${path}/:role/members`, { schema: { ...members, querystring: PageQuery } }, async (request) => {
    const by = await requireScope(request, reading)
    const { cursor = '', limit = defaultPageSize } = request.query
    const found = await listMembers(context, parseRole(request.params.role), cursor, limit)
    return createPage(
      found.map((member) => maskUnlessPermitted(by, member, maskMember)),
      request.query,
      (member) => member.user_id,
    )
  })
}

function scopeRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const read = { ...describeRoute('roles.get', reading, roleSchema), params: byRole }
  http.get(`${path}/:role`, { schema: read }, async (request, reply) => {
    await requireScope(request, reading)
    const { role, etag } = await readRole(context, request.params.role)
    return reply.header('etag', etag).send(role)
  })
  const change = {
    ...describeRoute('roles.put', adminScopes.roles, roleSchema),
    params: byRole,
    headers: IfMatchHeaders,
    body: RoleBody,
  }
  http.put(`${path}/:role`, { schema: change }, async (request, reply) => {
    const by = await requireRecentSignIn(request, adminScopes.roles)
    const update = { scopes: request.body.scopes, ifMatch: request.headers['if-match'] }
    const { role, etag } = await putRole(context, by, request.params.role, update)
    return reply.header('etag', etag).send(role)
  })
}

function memberRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const member = `${path}/:role/members/:user_id`
  const read = { ...describeRoute('roles.members.get', reading, memberSchema), params: byMember }
  http.get(member, { schema: read }, async (request, reply) => {
    const by = await requireScope(request, reading)
    const { role, user_id } = request.params
    const found = await readMember(context, parseRole(role), user_id)
    const { etag } = await readTaggedUser(context, user_id)
    return reply.header('etag', etag).send(maskUnlessPermitted(by, found, maskMember))
  })
  const grant = { ...describeRoute('roles.members.add', adminScopes.roles), params: byMember, headers: IfMatchHeaders }
  http.put(member, { schema: grant }, async (request, reply) => {
    const by = await requireRecentSignIn(request, adminScopes.roles)
    await changeRole(context, by, request.params.user_id, { ...changeOf(request), granted: true })
    return reply.code(204).send()
  })
  const revoke = {
    ...describeRoute('roles.members.remove', adminScopes.roles),
    params: byMember,
    headers: IfMatchHeaders,
  }
  http.delete(member, { schema: revoke }, async (request, reply) => {
    const by = await requireRecentSignIn(request, adminScopes.roles)
    await changeRole(context, by, request.params.user_id, { ...changeOf(request), granted: false })
    return reply.code(204).send()
  })
}

/** The role of a request, and how the user has to be. */
function changeOf({
  params: { role },
  headers,
}: {
  readonly params: { readonly role: string }
  readonly headers: { readonly 'if-match'?: string | undefined }
}): { readonly role: string; readonly ifMatch: string | undefined } {
  return { role, ifMatch: headers['if-match'] }
}

function callerRoute(http: Http, { context, authenticate }: AdminAccess): void {
  const schema = {
    tags: ['management'],
    ...operation('caller.get'),
    security: [{ bearer: [] }],
    response: { 200: callerSchema },
  }
  http.get('/admin/v1/me', { schema }, async (request) => {
    const { caller, by } = await authenticate(request)
    return describeCaller(context, caller, by)
  })
}
