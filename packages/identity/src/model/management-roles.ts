/*
 * What administrators may do: people have roles, roles allow scopes, and services check scopes only. A token that is
 * issued for a user has a management scope only while the user's roles allow it.
 */

/** The prefix of Gatehouse's own roles; products choose other names. */
const reservedRolePrefix = 'gatehouse-'

/** The role that allows everything. Once assigned, at least one user keeps it. */
export const ownerRole = 'gatehouse-owner'

/** The scopes that each reserved role comes with. */
const roleScopes = {
  'gatehouse-owner': [
    'admin:notifications',
    'admin:clients',
    'admin:users',
    'admin:api-keys',
    'admin:keys',
    'admin:audit',
    'admin:limits',
    'admin:roles',
    'admin:organizations',
    'admin:connections',
    'admin:privacy',
  ],
  'gatehouse-operator': [
    'admin:notifications',
    'admin:clients',
    'admin:users',
    'admin:api-keys',
    'admin:keys',
    'admin:limits',
    'admin:organizations',
    'read:audit',
    'read:personal-data',
  ],
  'gatehouse-support': [
    'read:accounts',
    'read:clients',
    'read:delivery',
    'read:settings',
    'read:limits',
    'read:organizations',
    'write:sessions',
    'write:account-mail',
    'write:limit-grants',
    'reveal:personal-data',
  ],
  'gatehouse-auditor': [
    'read:accounts',
    'read:clients',
    'read:keys',
    'read:delivery',
    'read:settings',
    'read:limits',
    'read:organizations',
    'read:audit',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** A role of Gatehouse's own. */
export type ManagementRole = keyof typeof roleScopes

/** Every management role, in the order of their power. */
export const managementRoles = Object.keys(roleScopes) as readonly ManagementRole[]

/** Scopes that include others: who may change something may read it. */
const includedScopes: Readonly<Record<string, readonly string[]>> = {
  'admin:notifications': ['read:delivery', 'read:settings'],
  'admin:clients': ['read:clients'],
  'admin:api-keys': ['read:clients'],
  'admin:connections': ['read:clients'],
  'admin:users': ['read:accounts', 'write:sessions', 'write:account-mail'],
  'admin:keys': ['read:keys'],
  'admin:audit': ['read:audit'],
  'admin:limits': ['read:limits', 'write:limit-grants'],
  'admin:organizations': ['read:organizations'],
  'admin:privacy': ['read:personal-data', 'reveal:personal-data'],
}

/** The scopes themselves and those they include. */
export function withIncludedScopes(scopes: Iterable<string>): ReadonlySet<string> {
  return new Set([...scopes].flatMap((scope) => [scope, ...(includedScopes[scope] ?? [])]))
}

const managementScopes = withIncludedScopes(Object.values(roleScopes).flat())

/** Whether a scope belongs to management, and so requires a role of a user. */
export function isManagementScope(scope: string): boolean {
  return managementScopes.has(scope)
}

/** The scopes of the roles that were changed, by the role. The others have the scopes that they come with. */
export type ChangedRoles = ReadonlyMap<string, readonly string[]>

/** The scopes that a role comes with. */
export function defaultScopes(role: ManagementRole): readonly string[] {
  return roleScopes[role]
}

/** The scopes that a role has now, without the included ones. The role {@link ownerRole} is never changed. */
export function scopesOfRole(role: ManagementRole, changed: ChangedRoles): readonly string[] {
  return (role === ownerRole ? undefined : changed.get(role)) ?? roleScopes[role]
}

/** Every management scope that the roles allow, with the included ones. */
export function scopesOfRoles(roles: readonly string[], changed: ChangedRoles): ReadonlySet<string> {
  return withIncludedScopes(roles.flatMap((role) => (isManagementRole(role) ? scopesOfRole(role, changed) : [])))
}

/** Scopes by which whoever has them becomes an owner: who has which role, and the connections by which anybody signs in. */
const ownersScopes: readonly string[] = ['admin:roles', 'admin:connections']

/** Why a role can't have the scope. Undefined when it can. */
export function checkRoleScope(scope: string): string | undefined {
  if (!isManagementScope(scope)) return 'must be a management scope'
  return ownersScopes.includes(scope) ? `is for ${ownerRole} alone` : undefined
}

/** Every scope that a role can be changed to have, sorted; none for {@link ownerRole}, which is never changed. */
export function assignableScopes(role: ManagementRole): readonly string[] {
  if (role === ownerRole) return []
  return [...managementScopes].filter((scope) => checkRoleScope(scope) === undefined).sort()
}

/** Whether a role is one of the management roles. */
export function isManagementRole(role: string): role is ManagementRole {
  return Object.hasOwn(roleScopes, role)
}

/** Whether a role name is Gatehouse's own, known or not. */
export function isReservedRole(role: string): boolean {
  return role.startsWith(reservedRolePrefix)
}

/** Why a user can't have the role: a reserved name that is not a management role. Undefined when they can. */
export function checkUserRole(role: string): string | undefined {
  if (!isReservedRole(role) || isManagementRole(role)) return undefined
  return `begins with ${reservedRolePrefix}, so must be one of ${managementRoles.join(', ')}`
}

/** The scope and every scope that includes it: one of them is enough. */
export function scopesIncluding(scope: string): string[] {
  return [scope, ...Object.keys(includedScopes).filter((wider) => includedScopes[wider]?.includes(scope))]
}

/** The management roles of `before` that `after` no longer contains. */
export function listRevokedRoles(before: readonly string[], after: readonly string[]): string[] {
  return before.filter((role) => isManagementRole(role) && !after.includes(role))
}

/** Whether this user is the only one with the role {@link ownerRole} who can sign in. */
export function isLastOwner(
  id: string,
  users: readonly { readonly id: string; readonly roles: readonly string[]; readonly locked: boolean }[],
): boolean {
  const owners = users.filter(({ roles, locked }) => !locked && roles.includes(ownerRole))
  return owners.length === 1 && owners[0]?.id === id
}
