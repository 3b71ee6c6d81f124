/*
 * Organizations are the customers of a product. Users stay global and are members of any number of them; in each they
 * have roles, and roles have permissions: names of scopes, which tokens for the organization carry.
 */

/** An organization. Times are Unix milliseconds. */
export interface Organization {
  readonly id: string
  readonly name: string
  /** Nobody acts in a suspended organization. */
  readonly status: OrganizationStatus
  /** Whether its members sign in with a second factor. */
  readonly requireMfa: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** Every status of an organization. */
export const organizationStatuses = ['active', 'suspended'] as const
/** One of {@link organizationStatuses}. */
export type OrganizationStatus = (typeof organizationStatuses)[number]

/** A role of one organization, or of all of them. */
export interface OrganizationRole {
  /** Undefined for a template: a role of all organizations. */
  readonly organizationId: string | undefined
  /** The name in tokens. */
  readonly key: string
  /** The name that people read. */
  readonly name: string
  readonly permissions: readonly string[]
}

/** Which scopes depend on roles in an organization, and which of them a member has. */
export interface Permissions {
  /**
   * Every permission that a role of the organization has, or had and that was not released since: a token has such a
   * scope only if `permissions` contains it.
   */
  readonly assignable: readonly string[]
  /** Those of the member's own roles. */
  readonly permissions: readonly string[]
}

/** A user in an active organization. */
export interface Membership extends Permissions {
  readonly organization: Pick<Organization, 'id' | 'name' | 'requireMfa'>
  readonly userId: string
  /** The keys of the roles, in order. */
  readonly roles: readonly string[]
}

/** The organization that a token is for: its id, and the keys of the member's roles. */
export interface TokenOrganization {
  readonly id: string
  readonly roles: readonly string[]
}

/** The claims of a token for an organization; none without one. */
export function organizationClaims(organization: TokenOrganization | undefined): {
  readonly org_id?: string
  readonly org_roles?: readonly string[]
} {
  return organization === undefined ? {} : { org_id: organization.id, org_roles: organization.roles }
}

/** The role that every organization has: its members have every permission, and at least one user keeps it. */
export const organizationOwner = 'owner'

/** The most roles that a member has, and so the most in a token. */
export const maxMemberRoles = 50

/** The most roles that an organization has of its own, beside the templates. */
export const maxOrganizationRoles = 100

/** A permission that a role has, or had and that was not released since: a scope that nobody has without a role. */
export interface ProtectedPermission {
  readonly permission: string
  /** The keys of the roles that have it, in order. */
  readonly roles: readonly string[]
}

/** What members need to administer their organization: permissions like those of products. */
export const organizationPermissions = {
  read: 'read:organization',
  change: 'write:organization',
  members: 'write:members',
  roles: 'write:member-roles',
} as const
/** One of {@link organizationPermissions}. */
export type OrganizationPermission = (typeof organizationPermissions)[keyof typeof organizationPermissions]

const ownPermissions: ReadonlySet<string> = new Set(Object.values(organizationPermissions))

/** Whether a scope is about the administration of an organization, and so never granted without one. */
function isOrganizationPermission(scope: string): boolean {
  return ownPermissions.has(scope)
}

/**
 * Whether a member may grant, change or revoke these roles: they have every permission of each. Only an owner makes or
 * unmakes an owner.
 */
export function mayAssignRoles(member: Membership, roles: readonly OrganizationRole[]): boolean {
  if (member.roles.includes(organizationOwner)) return true
  return roles.every(
    ({ key, permissions }) => key !== organizationOwner && permissions.every((one) => member.permissions.includes(one)),
  )
}

/** Whether the scope is one that roles would have to allow and don't; without an organization, whether it needs one. */
export function lacksPermission(scope: string, permissions: Permissions | undefined): boolean {
  if (permissions === undefined) return isOrganizationPermission(scope)
  const isAssignable = isOrganizationPermission(scope) || permissions.assignable.includes(scope)
  return isAssignable && !permissions.permissions.includes(scope)
}
