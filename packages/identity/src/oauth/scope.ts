import type { Client } from '../model/client.ts'
import { isManagementRole, isManagementScope, scopesOfRoles } from '../model/management-roles.ts'
import { lacksPermission, type Permissions } from '../model/organization.ts'
import { isServiceScope } from '../model/service-scopes.ts'
import type { User } from '../model/user.ts'
import type { IdentityStore } from '../store/index.ts'
import { OAuthError } from './error.ts'

/** The scopes of OpenID Connect (Core §5.4, §11): about a user, so never given to a client on its own behalf. */
export const userScopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'] as const

const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * The names in a space-separated scope, each once, in order (RFC 6749 §3.3).
 * @throws OAuthError `invalid_scope` for a character that is not allowed
 */
export function parseScope(scope: string | undefined): string[] {
  const names = [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))]
  if (!names.every((name) => scopeToken.test(name))) throw new OAuthError('invalid_scope', 'the scope is malformed')
  return names
}

/** Whether a text is the name of one scope (RFC 6749 §3.3). */
export function isScopeName(name: string): boolean {
  return scopeToken.test(name)
}

/** Whether a scope is one of OpenID Connect's own, about a user. */
export function isUserScope(name: string): boolean {
  return (userScopes as readonly string[]).includes(name)
}

/**
 * The requested scopes, when all of them are allowed.
 * @throws OAuthError `invalid_scope` naming those that are not
 */
export function requireAllowedScopes(requested: readonly string[], allowed: readonly string[]): string[] {
  const refused = requested.filter((name) => !allowed.includes(name))
  if (refused.length > 0)
    throw new OAuthError('invalid_scope', `not allowed for this client: ${refused.slice(0, 10).join(' ')}`)
  return [...requested]
}

/** The member scope of answers and tokens: none for no scopes, for its syntax has no empty one (RFC 6749 §3.3). */
export function scopeMember(scopes: readonly string[]): { readonly scope?: string } {
  return scopes.length === 0 ? {} : { scope: scopes.join(' ') }
}

/**
 * Whether the scopes are about the user's identity alone and grant access to no API: none, or those of OpenID Connect.
 */
export function isIdentityOnly(scopes: readonly string[]): boolean {
  return scopes.every(isUserScope)
}

/** Why a name can't be a permission of a role in an organization. Undefined when it can. */
export function checkPermission(name: string): string | undefined {
  if (!scopeToken.test(name)) return 'must be the name of a scope'
  if (isUserScope(name)) return 'is a scope of OpenID Connect, which users grant'
  if (isManagementScope(name)) return 'is a management scope, which management roles allow'
  return isServiceScope(name) ? 'is a scope between services' : undefined
}

/**
 * The scopes that a client may have for a user now: the client is registered for them and the user's roles allow them,
 * management roles the management scopes (`ofRoles`), and roles in the organization its permissions. Scopes between
 * services are never granted to a person.
 */
export function filterPermittedScopes(
  scopes: readonly string[],
  client: Pick<Client, 'scopes'>,
  ofRoles: ReadonlySet<string>,
  permissions?: Permissions,
): string[] {
  const isAllowed = (scope: string) =>
    isManagementScope(scope) ? ofRoles.has(scope) : !isServiceScope(scope) && !lacksPermission(scope, permissions)
  return scopes.filter((scope) => client.scopes.includes(scope) && isAllowed(scope))
}

/** What is read to know what roles allow. */
interface RoleContext {
  readonly store: Pick<IdentityStore, 'managementRoles'>
}

/** The management scopes that the user's roles allow now. Only users with a management role cost a query. */
export async function findScopesOfRoles(
  { store }: RoleContext,
  { roles }: Pick<User, 'roles'>,
): Promise<ReadonlySet<string>> {
  if (!roles.some(isManagementRole)) return new Set()
  return scopesOfRoles(roles, await store.managementRoles.listChanged())
}

/** Whose scopes are read. */
interface ScopeHolder {
  readonly client: Pick<Client, 'scopes'>
  readonly user: Pick<User, 'roles'>
  readonly permissions: Permissions | undefined
}

/** As {@link filterPermittedScopes}, by what the user's roles allow now. */
export async function findPermittedScopes(
  context: RoleContext,
  scopes: readonly string[],
  { client, user, permissions }: ScopeHolder,
): Promise<string[]> {
  const ofRoles = scopes.some(isManagementScope) ? await findScopesOfRoles(context, user) : new Set<string>()
  return filterPermittedScopes(scopes, client, ofRoles, permissions)
}

/** Whether narrowing left no access: nothing, or only offline_access. */
export function leavesNoAccess(before: readonly string[], after: readonly string[]): boolean {
  return after.length < before.length && after.every((scope) => scope === 'offline_access')
}
