import {
  createPage,
  defaultPageSize,
  entityTagOf,
  type Http,
  IfMatchHeaders,
  PageQuery,
  pageSchema,
  selectPage,
} from '@gatehouse/kit'
import { NewOrganization } from '../../config/organizations.ts'
import type { AdminContext } from '../../context/features.ts'
import type { Authenticate } from '../../model/caller.ts'
import { organizationPermissions as permissions } from '../../model/organization.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { adminScopes, readScopes } from '../scopes.ts'
import { type Administration, administrationRoutes } from './administration-routes.ts'
import { describeOwn, memberAdministration } from './member-access.ts'
import * as organizations from './organizations.ts'
import { listProtectedPermissions, releasePermission } from './permissions.ts'
import { deleteOrganizationRole, listOrganizationRoles, putOrganizationRole, readOrganizationRole } from './roles.ts'
import * as schemas from './schemas.ts'

const path = '/admin/v1/organizations'
const scope = adminScopes.organizations
const reading = readScopes.organizations

/** Organizations, templates of roles, and what is in an organization, for management. */
export function organizationRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  changingRoutes(http, access)
  templateRoutes(http, access)
  templatePermissionRoutes(http, access)
  administrationRoutes(http, access.context, managementAdministration(access))
}

/** The organization's own administration by its members, in a scope of its own: each request is admitted by its hook. */
export function ownOrganizationRoutes(http: Http, context: AdminContext, authenticate: Authenticate): void {
  const administration = memberAdministration(context, authenticate)
  const { authorize } = administration
  http.addHook('onRequest', administration.admitEarly)
  const read = describeOwn('ownOrganization.get', permissions.read, schemas.organizationSchema)
  http.get(administration.path, { schema: { ...read, params: schemas.ofOrganization } }, async (request, reply) => {
    const caller = await authorize(request, request.params.organization_id, permissions.read)
    const organization = await organizations.readOrganization(context, caller)
    return reply.header('etag', entityTagOf(organization)).send(organization)
  })
  const update = describeOwn('ownOrganization.update', permissions.change, schemas.organizationSchema)
  const tagged = { ...update, params: schemas.ofOrganization, headers: IfMatchHeaders }
  const updated = { ...tagged, body: schemas.ownOrganizationBody }
  http.patch(administration.path, { schema: updated }, async (request, reply) => {
    const caller = await authorize(request, request.params.organization_id, permissions.change)
    const change = { ...request.body, ifMatch: request.headers['if-match'] }
    const organization = await organizations.updateOrganization(context, caller, change)
    return reply.header('etag', entityTagOf(organization)).send(organization)
  })
  administrationRoutes(http, context, administration)
}

function managementAdministration({ requireScope, requireRecentSignIn }: AdminAccess): Administration {
  const scopeOf = (permission: string) => (permission === permissions.read ? reading : scope)
  const requireFor = (permission: string) => (permission === permissions.read ? requireScope : requireRecentSignIn)
  return {
    path: `${path}/:organization_id`,
    async authorize(request, organizationId, permission) {
      const by = await requireFor(permission)(request, scopeOf(permission))
      return { by, organizationId, member: undefined }
    },
    describe: (id, permission, answer, status) =>
      describeRoute(`organizations.${id}`, scopeOf(permission), answer, status),
  }
}

function readingRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const list = describeRoute('organizations.list', reading, pageSchema(schemas.organizationSchema))
  http.get(path, { schema: { ...list, querystring: PageQuery } }, async (request) => {
    await requireScope(request, reading)
    const { cursor = '', limit = defaultPageSize } = request.query
    return createPage(await organizations.listOrganizations(context, cursor, limit), request.query, ({ id }) => id)
  })
  const read = { ...describeRoute('organizations.get', reading, schemas.organizationSchema) }
  http.get(
    `${path}/:organization_id`,
    { schema: { ...read, params: schemas.ofOrganization } },
    async (request, reply) => {
      await requireScope(request, reading)
      const { organization_id: organizationId } = request.params
      const organization = await organizations.readOrganization(context, { organizationId })
      return reply.header('etag', entityTagOf(organization)).send(organization)
    },
  )
  const ofUser = describeRoute('users.organizations.list', reading, pageSchema(schemas.membershipSchema))
  http.get(
    '/admin/v1/users/:id/organizations',
    { schema: { ...ofUser, params: byId, querystring: PageQuery } },
    async (request) => {
      await requireScope(request, reading)
      const listed = await organizations.listUserOrganizations(context, request.params.id)
      return selectPage(listed, request.query, ({ organization_id }) => organization_id)
    },
  )
}

function changingRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const create = describeRoute('organizations.create', scope, schemas.organizationSchema, 201)
  http.post(path, { schema: { ...create, body: NewOrganization } }, async (request, reply) => {
    const by = await requireScope(request, scope)
    return reply.code(201).send(await organizations.createOrganization(context, by, request.body))
  })
  const one = `${path}/:organization_id`
  const update = describeRoute('organizations.update', scope, schemas.organizationSchema)
  const tagged = { ...update, params: schemas.ofOrganization, headers: IfMatchHeaders }
  const updated = { ...tagged, body: schemas.organizationBody }
  http.patch(one, { schema: updated }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    const caller = { by, organizationId: request.params.organization_id, member: undefined }
    const change = { ...request.body, ifMatch: request.headers['if-match'] }
    const organization = await organizations.updateOrganization(context, caller, change)
    return reply.header('etag', entityTagOf(organization)).send(organization)
  })
  const end = { ...describeRoute('organizations.delete', scope), params: schemas.ofOrganization }
  const remove = { ...end, headers: IfMatchHeaders }
  http.delete(one, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    const caller = { by, organizationId: request.params.organization_id, member: undefined }
    await organizations.deleteOrganization(context, caller, request.headers['if-match'])
    return reply.code(204).send()
  })
}

function templateRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const templates = '/admin/v1/organization-roles'
  const list = describeRoute('organizations.roleTemplates.list', reading, pageSchema(schemas.organizationRoleSchema))
  http.get(templates, { schema: { ...list, querystring: PageQuery } }, async (request) => {
    const roles = await listOrganizationRoles(context, { by: await requireScope(request, reading) })
    return selectPage(roles, request.query, ({ key }) => key)
  })
  const one = { params: schemas.ofTemplate, headers: IfMatchHeaders }
  const read = describeRoute('organizations.roleTemplates.get', reading, schemas.organizationRoleSchema)
  http.get(`${templates}/:role`, { schema: { ...read, params: schemas.ofTemplate } }, async (request, reply) => {
    const by = await requireScope(request, reading)
    const { role, etag } = await readOrganizationRole(context, { by }, request.params.role)
    return reply.header('etag', etag).send(role)
  })
  const put = { ...describeRoute('organizations.roleTemplates.put', scope), ...one }
  http.put(`${templates}/:role`, { schema: { ...put, body: schemas.roleBody } }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    const update = { ...request.body, ifMatch: request.headers['if-match'] }
    await putOrganizationRole(context, { by }, request.params.role, update)
    return reply.code(204).send()
  })
  const remove = { ...describeRoute('organizations.roleTemplates.delete', scope), ...one }
  http.delete(`${templates}/:role`, { schema: remove }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    await deleteOrganizationRole(context, { by }, request.params.role, request.headers['if-match'])
    return reply.code(204).send()
  })
}

function templatePermissionRoutes(http: Http, { context, requireScope, requireRecentSignIn }: AdminAccess): void {
  const all = '/admin/v1/organization-permissions'
  const answer = pageSchema(schemas.protectedPermissionSchema)
  const list = describeRoute('organizations.templatePermissions.list', reading, answer)
  http.get(all, { schema: { ...list, querystring: PageQuery } }, async (request) => {
    const by = await requireScope(request, reading)
    return selectPage(await listProtectedPermissions(context, { by }), request.query, ({ permission }) => permission)
  })
  const one = { params: schemas.ofTemplatePermission }
  const release = { ...describeRoute('organizations.templatePermissions.release', scope), ...one }
  http.delete(`${all}/:permission`, { schema: release }, async (request, reply) => {
    const by = await requireRecentSignIn(request, scope)
    await releasePermission(context, { by }, request.params.permission)
    return reply.code(204).send()
  })
}
