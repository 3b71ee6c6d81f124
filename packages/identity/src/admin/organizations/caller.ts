import { Problem } from '@gatehouse/kit'
import type { AdminContext } from '../../context/features.ts'
import { type Membership, mayAssignRoles, type Organization, type OrganizationRole } from '../../model/organization.ts'
import { type Authority, auditChange } from '../authority.ts'

/** Who administers an organization: a caller of management, or a member of it. */
export interface OrganizationCaller {
  readonly by: Authority
  readonly organizationId: string
  /** Undefined for management, which may grant every role. */
  readonly member: Membership | undefined
}

/** @throws Problem 403 when a role has a permission that the member lacks */
export function requireAssignable({ member }: OrganizationCaller, roles: readonly OrganizationRole[]): void {
  if (member === undefined || mayAssignRoles(member, roles)) return
  const keys = roles.filter((role) => !mayAssignRoles(member, [role])).map(({ key }) => key)
  throw new Problem(403, `These roles have permissions that you lack: ${keys.slice(0, 20).join(', ')}.`)
}

/** @throws Problem 403 for permissions that the member lacks */
export function requirePermissions({ member }: OrganizationCaller, permissions: readonly string[]): void {
  const missing = permissions.filter((one) => member !== undefined && !member.permissions.includes(one))
  if (missing.length === 0) return
  throw new Problem(403, `You lack these permissions yourself: ${missing.slice(0, 20).join(', ')}.`)
}

/** The roles with these keys, of those that the organization has. @throws Problem 422 naming the unknown ones */
export function requireRoles(known: readonly OrganizationRole[], keys: readonly string[]): OrganizationRole[] {
  const errors = keys.flatMap((key, index) =>
    known.some((role) => role.key === key) ? [] : [{ pointer: `/roles/${index}`, detail: 'is not a role here' }],
  )
  if (errors.length === 0) return known.filter(({ key }) => keys.includes(key))
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}

/** Finds the organization of the caller. @throws Problem 404 */
export async function requireOrganization(
  { store }: Pick<AdminContext, 'store'>,
  { organizationId }: Pick<OrganizationCaller, 'organizationId'>,
): Promise<Organization> {
  return (await store.organizations.find(organizationId)) ?? throwNotFound('organization')
}

/** @throws Problem 404 */
export function throwNotFound(what: string): never {
  throw new Problem(404, `There is no such ${what}.`)
}

/** A change in an organization, as the audit trail records it. */
export interface OrganizationChange {
  readonly action: string
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
}

/** Records a change in an organization before it is made. @throws Problem 503 */
export function auditOrganization(
  context: AdminContext,
  { by, organizationId }: Pick<OrganizationCaller, 'by' | 'organizationId'>,
  change: OrganizationChange,
): Promise<void> {
  return auditChange(context, by, { ...change, target: { type: 'organization', id: organizationId } })
}
