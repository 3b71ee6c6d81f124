import { entityTagOf, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { AdminContext } from '../../context/features.ts'
import { revocationTimes } from '../../model/grants/revocation-times.ts'
import { checkRoleScope, ownerRole, scopesOfRole, withIncludedScopes } from '../../model/management-roles.ts'
import { type Authority, auditChange, requireScopes } from '../authority.ts'
import { formatRole, parseRole, type RoleResponse } from './roles.ts'

/** A role and its entity tag. */
export interface TaggedRole {
  readonly role: RoleResponse
  readonly etag: string
}

/** Reads a role. @throws Problem 404 */
export async function readRole({ store }: Pick<AdminContext, 'store'>, name: string): Promise<TaggedRole> {
  return tagged(formatRole(parseRole(name), await store.managementRoles.listChanged()))
}

function tagged(role: RoleResponse): TaggedRole {
  return { role, etag: entityTagOf(role) }
}

/** The scopes that a role shall have. */
export interface RoleUpdate {
  readonly scopes: readonly string[]
  /** The header If-Match: the role is changed only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

/**
 * Replaces the scopes of a role. Its members have more from their next tokens on, and lose scopes at once.
 * @throws Problem 403, 404, 412, 422, 503; 409 for the role of the owners or a concurrent change
 */
export async function putRole(
  context: AdminContext,
  by: Authority,
  name: string,
  { scopes, ifMatch }: RoleUpdate,
): Promise<TaggedRole> {
  const { store } = context
  const role = parseRole(name)
  if (role === ownerRole) throw new Problem(409, `The role ${ownerRole} allows everything; it cannot be changed.`)
  requireRoleScopes(scopes)
  const changed = await store.managementRoles.listChanged()
  const before = scopesOfRole(role, changed)
  requireMatch(ifMatch, tagged(formatRole(role, changed)).etag)
  requireScopes(by, withIncludedScopes([...before, ...scopes]), `Changing ${role} requires scopes`)
  const after = [...scopes].sort()
  const target = { type: 'management_role', id: role }
  await auditChange(context, by, {
    action: 'roles.update',
    target,
    before: { scopes: before },
    after: { scopes: after },
  })
  const kept = withIncludedScopes(after)
  const narrows = [...withIncludedScopes(before)].some((scope) => !kept.has(scope))
  const change = { role, scopes: after, expected: changed.get(role), narrows }
  if ((await store.managementRoles.change(change, () => revocationTimes(context))) === 'outdated') {
    if (ifMatch !== undefined) throw preconditionFailed((await readRole(context, role)).etag)
    throw new Problem(409, 'The role was changed at the same time; read it again and retry.')
  }
  return tagged(formatRole(role, new Map([[role, after]])))
}

/** @throws Problem 422 */
function requireRoleScopes(scopes: readonly string[]): void {
  const errors = scopes.flatMap((scope, index) => {
    const detail = checkRoleScope(scope)
    return detail === undefined ? [] : [{ pointer: `/scopes/${index}`, detail }]
  })
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}
