import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { auditChange } from '../authority.ts'
import { requireOrganization, requirePermissions, throwNotFound } from './caller.ts'
import type { RoleCaller } from './roles.ts'
import type { protectedPermissionSchema } from './schemas.ts'

/** A permission that nobody has without a role, as the API returns it. */
type ProtectedPermissionResponse = Static<typeof protectedPermissionSchema>

/** Lists the permissions that templates, or roles of the organization itself, have or had. @throws Problem 404 */
export async function listProtectedPermissions(
  context: AdminContext,
  caller: RoleCaller,
): Promise<ProtectedPermissionResponse[]> {
  if (caller.organizationId !== undefined) await requireOrganization(context, caller)
  const found = await context.store.organizationRoles.listProtected(caller.organizationId)
  return found.map(({ permission, roles }) => ({ permission, roles: [...roles] }))
}

/**
 * Releases a permission that no role has any more: who requests the scope gets it without a role, from the next tokens
 * on. @throws Problem 403 for a member who lacks it, 404, 409 while a role has it, 503
 */
export async function releasePermission(context: AdminContext, caller: RoleCaller, permission: string): Promise<void> {
  const { by, organizationId } = caller
  const protectedOnes = await context.store.organizationRoles.listProtected(organizationId)
  const found = protectedOnes.find((one) => one.permission === permission) ?? throwNotFound('permission')
  if (found.roles.length > 0)
    throw new Problem(409, `These roles have the permission ${permission}: ${found.roles.slice(0, 20).join(', ')}.`)
  if (organizationId !== undefined) requirePermissions(caller, [permission])
  const action = organizationId === undefined ? 'organization_template_permissions' : 'organization_permissions'
  const target = { type: 'organization', id: organizationId ?? '*' }
  await auditChange(context, by, { action: `${action}.release`, target, before: { permission } })
  const result = await context.store.organizationRoles.release(organizationId, permission)
  if (result === 'missing') throwNotFound('permission')
  if (result === 'in_use') throw new Problem(409, `A role was given the permission ${permission} meanwhile.`)
}
