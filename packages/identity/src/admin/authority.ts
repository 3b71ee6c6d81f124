import { type Actor, type ManagementChange, Problem, recordChange } from '@gatehouse/kit'
import { changeRecorder } from '../audit/record.ts'
import type { AdminContext } from '../context/features.ts'
import type { Client } from '../model/client.ts'
import { isManagementRole, isManagementScope, isReservedRole } from '../model/management-roles.ts'
import { isServiceScope } from '../model/service-scopes.ts'
import type { User } from '../model/user.ts'
import { findScopesOfRoles } from '../oauth/scope.ts'

/*
 * No caller assigns, or gains through others, scopes that they do not have. Whoever changes a client or an account can
 * act as it afterwards (a new secret, another redirect URI, a password), so they must have every scope of Gatehouse's
 * own that it has. Scopes of products are free: Gatehouse does not know their meaning.
 */

/** The authority of a caller of management. */
export interface Authority {
  readonly actor: Actor
  /** With included scopes; for a person only those that their roles allow. */
  readonly scopes: ReadonlySet<string>
  /** The roles of the user; empty for a client. */
  readonly roles: readonly string[]
  /** Of the user, as it was before the age of the sign-in was checked; undefined for a client. */
  readonly credentialVersion?: string | undefined
  /** True for the command line, whose user can read the database and its keys. */
  readonly unrestricted: boolean
}

/** The authority of the command line. */
export const commandLine: Authority = {
  actor: { subject: 'command line' },
  scopes: new Set(),
  roles: [],
  unrestricted: true,
}

/** Scopes of Gatehouse's APIs for applications, with the management scope whose holder may assign them as well. */
const administeredBy: ReadonlyMap<string, string> = new Map([
  ['read:users', 'admin:users'],
  ['read:notifications', 'admin:notifications'],
  ['write:notifications', 'admin:notifications'],
  ['write:preferences', 'admin:notifications'],
  ['write:recipients', 'admin:notifications'],
  ['read:events', 'admin:notifications'],
])

function mayAssign(by: Authority, scope: string): boolean {
  if (by.unrestricted || by.scopes.has(scope)) return true
  const administrator = administeredBy.get(scope)
  if (administrator !== undefined) return by.scopes.has(administrator)
  return !isManagementScope(scope) && !isServiceScope(scope)
}

/** @throws Problem 403 naming the scopes that the caller does not hold */
export function requireScopes(by: Authority, scopes: Iterable<string>, what: string): void {
  const missing = [...scopes].filter((scope) => !mayAssign(by, scope))
  if (missing.length === 0) return
  throw new Problem(403, `${what} that you lack: ${missing.slice(0, 20).join(', ')}.`)
}

/** @throws Problem 403 when the client holds a scope that the caller lacks */
export function requireAuthorityOverClient(by: Authority, client: Client): void {
  requireScopes(by, client.scopes, 'This client has scopes')
}

type StoreContext = Pick<AdminContext, 'store'>

/** @throws Problem 403 when the user holds a management role with a scope that the caller lacks */
export async function requireAuthorityOverUser(context: StoreContext, by: Authority, user: User): Promise<void> {
  if (by.unrestricted) return
  requireScopes(by, await findScopesOfRoles(context, user), 'This user has a management role with scopes')
}

/** Allows a change of roles. @throws Problem 403 for a reserved role that the caller may not assign */
export async function requireRoleAuthority(
  context: StoreContext,
  by: Authority,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const changed = [...before, ...after].filter((role) => before.includes(role) !== after.includes(role))
  const reserved = changed.filter(isReservedRole)
  if (reserved.length === 0 || by.unrestricted) return
  if (!by.scopes.has('admin:roles')) {
    throw new Problem(403, `The scope admin:roles is required to grant or revoke ${reserved.join(', ')}.`)
  }
  const known = reserved.filter(isManagementRole)
  const scopes = await findScopesOfRoles(context, { roles: known })
  requireScopes(by, scopes, `Granting or revoking ${known.join(', ')} requires scopes`)
}

type Change = Pick<ManagementChange, 'action' | 'target' | 'before' | 'after'>

/** Records a change before it is made. @throws Problem 503 when that fails: the change must then not be made */
export function auditChange(context: AdminContext, by: Authority, change: Change): Promise<void> {
  return recordChange(changeRecorder(context), { service: 'identity', actor: by.actor, ...change })
}
