import {
  createPage,
  defaultPageSize,
  type Http,
  IfMatchHeaders,
  PageQuery,
  PageQueryById,
  pageSchema,
  selectPage,
} from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { AdminContext } from '../../context/features.ts'
import type { OperationId } from '../../http/operations/index.ts'
import { type OrganizationPermission, organizationPermissions as permissions } from '../../model/organization.ts'
import { maskInvitation, maskOrganizationMember, maskUnlessPermitted } from '../masking.ts'
import type { OrganizationCaller } from './caller.ts'
import { addDomain, listDomains, removeDomain, verifyDomain } from './domains.ts'
import { createInvitation, listInvitations, revokeInvitation } from './invitations.ts'
import { listOrganizationMembers, putMember, readOrganizationMember, removeMember } from './members.ts'
import { listProtectedPermissions, releasePermission } from './permissions.ts'
import { deleteOrganizationRole, listOrganizationRoles, putOrganizationRole, readOrganizationRole } from './roles.ts'
import * as schemas from './schemas.ts'

type Shared<Id> = Id extends `organizations.${infer Rest}`
  ? `ownOrganization.${Rest}` extends OperationId
    ? Rest
    : never
  : never
/** An operation that both callers have, without the prefix that tells them apart. */
export type SharedOperation = Shared<OperationId>

/** How one kind of caller administers an organization: the path and the authority. */
export interface Administration {
  /** With the parameter `organization_id`. */
  readonly path: string
  /**
   * The caller, who has the permission. For a change, a person must have signed in within ten minutes: it lets somebody
   * in, or out.
   * @throws Problem 401 `insufficient_user_authentication` (RFC 9470 §3), 403
   */
  authorize(
    request: FastifyRequest,
    organizationId: string,
    permission: OrganizationPermission,
  ): Promise<OrganizationCaller>
  /** The schema of a route for the API document. */
  describe(id: SharedOperation, permission: OrganizationPermission, answer?: object, status?: 200 | 201 | 204): object
}

/** Members, roles, invitations and domains of an organization, for management or for its members. */
export function administrationRoutes(http: Http, context: AdminContext, administration: Administration): void {
  memberRoutes(http, context, administration)
  roleRoutes(http, context, administration)
  permissionRoutes(http, context, administration)
  invitationRoutes(http, context, administration)
  domainRoutes(http, context, administration)
}

/** The value, masked for callers of management who may not read personal data. */
function maskFor<Answer>({ by, member }: OrganizationCaller, answer: Answer, mask: (answer: Answer) => Answer): Answer {
  return member === undefined ? maskUnlessPermitted(by, answer, mask) : answer
}

function memberRoutes(http: Http, context: AdminContext, { path, authorize, describe }: Administration): void {
  const list = describe('members.list', permissions.read, pageSchema(schemas.organizationMemberSchema))
  const listed = { ...list, params: schemas.ofOrganization, querystring: PageQuery }
  http.get(`${path}/members`, { schema: listed }, async (request) => {
    const caller = await authorize(request, request.params.organization_id, permissions.read)
    const { cursor = '', limit = defaultPageSize } = request.query
    const members = await listOrganizationMembers(context, caller, cursor, limit)
    return createPage(
      members.map((one) => maskFor(caller, one, maskOrganizationMember)),
      request.query,
      ({ user_id }) => user_id,
    )
  })
  const one = { params: schemas.ofMember, headers: IfMatchHeaders }
  const read = describe('members.get', permissions.read, schemas.organizationMemberSchema)
  http.get(`${path}/members/:user_id`, { schema: { ...read, params: schemas.ofMember } }, async (request, reply) => {
    const { organization_id, user_id } = request.params
    const caller = await authorize(request, organization_id, permissions.read)
    const { member, etag } = await readOrganizationMember(context, caller, user_id)
    return reply.header('etag', etag).send(maskFor(caller, member, maskOrganizationMember))
  })
  const put = { ...describe('members.put', permissions.members), ...one, body: schemas.memberBody }
  http.put(`${path}/members/:user_id`, { schema: put }, async (request, reply) => {
    const { organization_id, user_id } = request.params
    const caller = await authorize(request, organization_id, permissions.members)
    const update = { roles: request.body.roles, ifMatch: request.headers['if-match'] }
    await putMember(context, caller, user_id, update)
    return reply.code(204).send()
  })
  const remove = { ...describe('members.remove', permissions.members), ...one }
  http.delete(`${path}/members/:user_id`, { schema: remove }, async (request, reply) => {
    const { organization_id, user_id } = request.params
    const caller = await authorize(request, organization_id, permissions.members)
    await removeMember(context, caller, user_id, request.headers['if-match'])
    return reply.code(204).send()
  })
}

function roleRoutes(http: Http, context: AdminContext, { path, authorize, describe }: Administration): void {
  const list = describe('roles.list', permissions.read, pageSchema(schemas.organizationRoleSchema))
  http.get(
    `${path}/roles`,
    { schema: { ...list, params: schemas.ofOrganization, querystring: PageQuery } },
    async (request) => {
      const caller = await authorize(request, request.params.organization_id, permissions.read)
      return selectPage(await listOrganizationRoles(context, caller), request.query, ({ key }) => key)
    },
  )
  const one = { params: schemas.ofRole, headers: IfMatchHeaders }
  const read = describe('roles.get', permissions.read, schemas.organizationRoleSchema)
  http.get(`${path}/roles/:role`, { schema: { ...read, params: schemas.ofRole } }, async (request, reply) => {
    const caller = await authorize(request, request.params.organization_id, permissions.read)
    const { role, etag } = await readOrganizationRole(context, caller, request.params.role)
    return reply.header('etag', etag).send(role)
  })
  const put = { ...describe('roles.put', permissions.roles), ...one, body: schemas.roleBody }
  http.put(`${path}/roles/:role`, { schema: put }, async (request, reply) => {
    const { organization_id, role } = request.params
    const caller = await authorize(request, organization_id, permissions.roles)
    await putOrganizationRole(context, caller, role, { ...request.body, ifMatch: request.headers['if-match'] })
    return reply.code(204).send()
  })
  const remove = { ...describe('roles.delete', permissions.roles), ...one }
  http.delete(`${path}/roles/:role`, { schema: remove }, async (request, reply) => {
    const { organization_id, role } = request.params
    const caller = await authorize(request, organization_id, permissions.roles)
    await deleteOrganizationRole(context, caller, role, request.headers['if-match'])
    return reply.code(204).send()
  })
}

function permissionRoutes(http: Http, context: AdminContext, { path, authorize, describe }: Administration): void {
  const list = describe('permissions.list', permissions.read, pageSchema(schemas.protectedPermissionSchema))
  http.get(
    `${path}/permissions`,
    { schema: { ...list, params: schemas.ofOrganization, querystring: PageQuery } },
    async (request) => {
      const caller = await authorize(request, request.params.organization_id, permissions.read)
      return selectPage(await listProtectedPermissions(context, caller), request.query, ({ permission }) => permission)
    },
  )
  const release = { ...describe('permissions.release', permissions.roles), params: schemas.ofPermission }
  http.delete(`${path}/permissions/:permission`, { schema: release }, async (request, reply) => {
    const { organization_id, permission } = request.params
    const caller = await authorize(request, organization_id, permissions.roles)
    await releasePermission(context, caller, permission)
    return reply.code(204).send()
  })
}

function invitationRoutes(http: Http, context: AdminContext, { path, authorize, describe }: Administration): void {
  const list = describe('invitations.list', permissions.read, pageSchema(schemas.invitationSchema))
  const listed = { ...list, params: schemas.ofOrganization, querystring: PageQueryById }
  http.get(`${path}/invitations`, { schema: listed }, async (request) => {
    const caller = await authorize(request, request.params.organization_id, permissions.read)
    const { cursor, limit = defaultPageSize } = request.query
    const invitations = await listInvitations(context, caller, cursor, limit)
    return createPage(
      invitations.map((one) => maskFor(caller, one, maskInvitation)),
      request.query,
      ({ id }) => id,
    )
  })
  const create = describe('invitations.create', permissions.members, schemas.invitationSchema, 201)
  const created = { ...create, params: schemas.ofOrganization, body: schemas.invitationBody }
  http.post(`${path}/invitations`, { schema: created }, async (request, reply) => {
    const caller = await authorize(request, request.params.organization_id, permissions.members)
    const invitation = await createInvitation(context, caller, request.body)
    return reply.code(201).send(maskFor(caller, invitation, maskInvitation))
  })
  const revoke = { ...describe('invitations.revoke', permissions.members), params: schemas.ofInvitation }
  http.delete(`${path}/invitations/:invitation_id`, { schema: revoke }, async (request, reply) => {
    const { organization_id, invitation_id } = request.params
    const caller = await authorize(request, organization_id, permissions.members)
    await revokeInvitation(context, caller, invitation_id)
    return reply.code(204).send()
  })
}

function domainRoutes(http: Http, context: AdminContext, { path, authorize, describe }: Administration): void {
  const list = describe('domains.list', permissions.read, pageSchema(schemas.domainSchema))
  http.get(
    `${path}/domains`,
    { schema: { ...list, params: schemas.ofOrganization, querystring: PageQuery } },
    async (request) => {
      const caller = await authorize(request, request.params.organization_id, permissions.read)
      return selectPage(await listDomains(context, caller), request.query, ({ domain }) => domain)
    },
  )
  const add = { ...describe('domains.add', permissions.change, schemas.domainSchema), params: schemas.ofDomain }
  http.put(`${path}/domains/:domain`, { schema: add }, async (request) => {
    const { organization_id, domain } = request.params
    return addDomain(context, await authorize(request, organization_id, permissions.change), domain)
  })
  const verify = { ...describe('domains.verify', permissions.change, schemas.domainSchema), params: schemas.ofDomain }
  http.post(`${path}/domains/:domain/verify`, { schema: verify }, async (request) => {
    const { organization_id, domain } = request.params
    return verifyDomain(context, await authorize(request, organization_id, permissions.change), domain)
  })
  const remove = { ...describe('domains.remove', permissions.change), params: schemas.ofDomain }
  http.delete(`${path}/domains/:domain`, { schema: remove }, async (request, reply) => {
    const { organization_id, domain } = request.params
    await removeDomain(context, await authorize(request, organization_id, permissions.change), domain)
    return reply.code(204).send()
  })
}
