import type { Client } from '../model/client.ts'
import { isManagementScope, scopesOfRoles } from '../model/management-roles.ts'
import { isServiceScope } from '../model/service-scopes.ts'
import type { User } from '../model/user.ts'
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

export function isUserScope(name: string): boolean {
  return (userScopes as readonly string[]).includes(name)
}

/**
 * What was asked for, if all of it is allowed.
 * @throws OAuthError `invalid_scope` naming what is not
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

/** Whether scopes tell who a user is and open no API: none, or those of OpenID Connect alone. */
export function isIdentityOnly(scopes: readonly string[]): boolean {
  return scopes.every(isUserScope)
}

/**
 * Those of the scopes that a client may be given for a user now: it is registered for them and, where they belong to
 * management, the user's roles allow them. What belongs between services no person is given.
 */
export function filterPermittedScopes(
  scopes: readonly string[],
  client: Pick<Client, 'scopes'>,
  user: Pick<User, 'roles'>,
): string[] {
  const ofRoles = scopesOfRoles(user.roles)
  const isAllowed = (scope: string) => (isManagementScope(scope) ? ofRoles.has(scope) : !isServiceScope(scope))
  return scopes.filter((scope) => client.scopes.includes(scope) && isAllowed(scope))
}

/** Whether narrowing took everything: what is left, if anything, is leave to go on without the user. */
export function leavesNoAccess(before: readonly string[], after: readonly string[]): boolean {
  return after.length < before.length && after.every((scope) => scope === 'offline_access')
}
