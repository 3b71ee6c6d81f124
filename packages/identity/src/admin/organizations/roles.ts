import { entityTagOf, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { OrganizationRolePatch } from '../../config/organizations.ts'
import type { AdminContext } from '../../context/features.ts'
import { maxOrganizationRoles, type OrganizationRole, organizationOwner } from '../../model/organization.ts'
import { checkPermission } from '../../oauth/scope.ts'
import { type Authority, auditChange } from '../authority.ts'
import {
  type OrganizationCaller,
  requireAssignable,
  requireOrganization,
  requirePermissions,
  throwNotFound,
} from './caller.ts'
import type { organizationRoleSchema } from './schemas.ts'

/** Who changes a role: of one organization, or a template, which only management changes. */
export type RoleCaller = OrganizationCaller | { readonly by: Authority; readonly organizationId?: never }

/** Lists the templates and, for one, the roles of the organization. @throws Problem 404 */
export async function listOrganizationRoles(
  context: AdminContext,
  caller: RoleCaller,
): Promise<Static<typeof organizationRoleSchema>[]> {
  if (caller.organizationId !== undefined) await requireOrganization(context, caller)
  const roles = await context.store.organizationRoles.list(caller.organizationId)
  return roles.map(formatRole)
}

/** A role as the API returns it. */
export type OrganizationRoleResponse = Static<typeof organizationRoleSchema>

function formatRole({ organizationId, key, name, permissions }: OrganizationRole): OrganizationRoleResponse {
  return { key, name, permissions: [...permissions], template: organizationId === undefined }
}

/** A role, or a template, with its entity tag. @throws Problem 404 */
export async function readOrganizationRole(
  context: AdminContext,
  caller: RoleCaller,
  key: string,
): Promise<{ readonly role: OrganizationRoleResponse; readonly etag: string }> {
  const role = (await listOrganizationRoles(context, caller)).find((one) => one.key === key)
  return role === undefined ? throwNotFound('role') : { role, etag: entityTagOf(role) }
}

const tagOf = (role: OrganizationRole | undefined) => role && entityTagOf(formatRole(role))

/** The definition of a role. */
export interface RoleUpdate extends OrganizationRolePatch {
  /** The header If-Match: the role is replaced only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

/** Creates or replaces a role; members have the new permissions from their next tokens on. @throws Problem 403, 404, 409, 412, 422, 503 */
export async function putOrganizationRole(
  context: AdminContext,
  caller: RoleCaller,
  key: string,
  { name = key, permissions, ifMatch }: RoleUpdate,
): Promise<void> {
  requireValidPermissions(permissions)
  const { organizationId } = caller
  if (organizationId !== undefined) await requireOrganization(context, caller)
  const roles = await context.store.organizationRoles.list(organizationId)
  const found = roles.find((role) => role.key === key)
  if (key === organizationOwner || found?.organizationId !== (found && organizationId)) throw conflict(key)
  requireMatch(ifMatch, tagOf(found))
  const own = roles.filter((role) => role.organizationId !== undefined)
  if (organizationId !== undefined && found === undefined && own.length >= maxOrganizationRoles) throw full()
  if (organizationId !== undefined) {
    requireAssignable(caller, found === undefined ? [] : [found])
    requirePermissions(caller, permissions)
  }
  const after = { key, name, permissions }
  await auditRole(context, caller, {
    verb: 'put',
    ...(found && { before: audited(found) }),
    after,
  })
  const expected = ifMatch === undefined ? undefined : found
  const result = await context.store.organizationRoles.put({ organizationId, ...after }, context.clock.now(), expected)
  if (result === 'conflict') throw conflict(key)
  if (result === 'full') throw full()
  if (result === 'missing') throwNotFound('organization')
  if (result === 'outdated') throw preconditionFailed((await readOrganizationRole(context, caller, key)).etag)
}

/** Deletes a role; members and invitations lose it at once, and its permissions stay protected. @throws Problem 403, 404, 409, 412, 503 */
export async function deleteOrganizationRole(
  context: AdminContext,
  caller: RoleCaller,
  key: string,
  ifMatch?: string,
): Promise<void> {
  const { organizationId } = caller
  const roles = await context.store.organizationRoles.list(organizationId)
  const found = roles.find((role) => role.key === key && role.organizationId === organizationId)
  if (found === undefined) return throwNotFound('role')
  if (key === organizationOwner) throw conflict(key)
  requireMatch(ifMatch, tagOf(found))
  if (organizationId !== undefined) requireAssignable(caller, [found])
  await auditRole(context, caller, { verb: 'delete', before: audited(found) })
  const expected = ifMatch === undefined ? undefined : found
  if (await context.store.organizationRoles.remove(organizationId, key, expected)) return
  throw preconditionFailed((await readOrganizationRole(context, caller, key)).etag)
}

function audited({ key, name, permissions }: OrganizationRole): Record<string, unknown> {
  return { key, name, permissions }
}

type RoleChange = Omit<Parameters<typeof auditChange>[2], 'target' | 'action'> & { readonly verb: 'put' | 'delete' }

function auditRole(
  context: AdminContext,
  { by, organizationId }: RoleCaller,
  { verb, ...change }: RoleChange,
): Promise<void> {
  const action = `${organizationId === undefined ? 'organization_templates' : 'organization_roles'}.${verb}`
  return auditChange(context, by, { ...change, action, target: { type: 'organization', id: organizationId ?? '*' } })
}

/** @throws Problem 422 */
function requireValidPermissions(permissions: readonly string[]): void {
  const errors = permissions.flatMap((name, index) => {
    const detail = checkPermission(name)
    return detail === undefined ? [] : [{ pointer: `/permissions/${index}`, detail }]
  })
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}

function full(): Problem {
  return new Problem(409, `An organization has at most ${maxOrganizationRoles} roles of its own; delete some first.`)
}

function conflict(key: string): Problem {
  const detail = key === organizationOwner ? 'is fixed' : 'is the key of a template, or of a role of an organization'
  return new Problem(409, `${key} ${detail}.`)
}
