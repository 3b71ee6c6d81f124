import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import type { Caller } from '../../model/caller.ts'
import {
  assignableScopes,
  type ChangedRoles,
  checkUserRole,
  defaultScopes,
  isManagementRole,
  type ManagementRole,
  managementRoles,
  scopesOfRole,
  scopesOfRoles,
} from '../../model/management-roles.ts'
import type { User } from '../../model/user.ts'
import type { Authority } from '../authority.ts'
import type { callerSchema, memberSchema, roleSchema } from '../responses.ts'
import { formatLastSignIn } from '../users/last-sign-in.ts'

/** A user with a management role. */
export type MemberResponse = Static<typeof memberSchema>

/** A management role as the API returns it. */
export type RoleResponse = Static<typeof roleSchema>

/** Formats a role with its present scopes. */
export function formatRole(role: ManagementRole, changed: ChangedRoles): RoleResponse {
  return {
    role,
    scopes: [...scopesOfRoles([role], changed)].sort(),
    granted_scopes: [...scopesOfRole(role, changed)].sort(),
    default_scopes: [...defaultScopes(role)].sort(),
    assignable_scopes: [...assignableScopes(role)],
  }
}

/** Lists the management roles with their scopes. */
export async function listRoles({ store }: Pick<AdminContext, 'store'>): Promise<RoleResponse[]> {
  const changed = await store.managementRoles.listChanged()
  return managementRoles.map((role) => formatRole(role, changed))
}

/** @throws Problem 404 naming the roles that there are */
export function parseRole(name: string): ManagementRole {
  if (isManagementRole(name)) return name
  throw new Problem(404, `There is no management role ${name}; the roles are ${managementRoles.join(', ')}.`)
}

/** Checks the roles that a user is to have. @throws Problem 422 for a reserved name that is no management role */
export function requireKnownRoles(roles: readonly string[]): void {
  const errors = roles.flatMap((role, index) => {
    const detail = checkUserRole(role)
    return detail === undefined ? [] : [{ pointer: `/roles/${index}`, detail }]
  })
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}

/** Lists the users with a role in the order of their ids. */
export async function listMembers(
  { store }: Pick<AdminContext, 'store'>,
  role: ManagementRole,
  after: string,
  limit: number,
): Promise<MemberResponse[]> {
  const users = await store.users.listByRole(role, after, limit)
  const times = await store.userDirectory.findLastSignIns(users.map(({ id }) => id))
  return users.map((user) => formatMember(user, times.get(user.id)))
}

/** @throws Problem 404 */
export async function readMember(
  { store }: Pick<AdminContext, 'store'>,
  role: string,
  id: string,
): Promise<MemberResponse> {
  const user = await store.users.find(id)
  if (!user?.roles.includes(role)) throw new Problem(404, `No user with this id has the role ${role}.`)
  return formatMember(user, (await store.userDirectory.findLastSignIns([id])).get(id))
}

function formatMember({ id, username, lockedAt }: User, signedInAt: number | undefined): MemberResponse {
  return { user_id: id, username, locked: lockedAt !== undefined, ...formatLastSignIn(signedInAt) }
}

const pageSize = 500

/** Lists every user with a management role, role by role. */
export async function listAdministrators(
  context: Pick<AdminContext, 'store'>,
): Promise<(MemberResponse & { role: string })[]> {
  const found: (MemberResponse & { role: string })[] = []
  for (const role of managementRoles) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const members: MemberResponse[] = await listMembers(context, role, after, pageSize)
      found.push(...members.map((member) => ({ role, ...member })))
      after = members.length < pageSize ? undefined : members.at(-1)?.user_id
    }
  }
  return found
}

/** Describes a caller: user or client, roles and current scopes. */
export async function describeCaller(
  { store }: Pick<AdminContext, 'store'>,
  { kind, subject, grantId }: Caller,
  by: Authority,
): Promise<Static<typeof callerSchema>> {
  const userGrant = kind === 'user' && grantId !== undefined ? await store.grants.find(grantId) : undefined
  return {
    ...(kind === 'user' ? { user: subject } : { client: subject }),
    roles: [...by.roles],
    scopes: [...by.scopes].sort(),
    ...(userGrant === undefined ? {} : { auth_time: Math.floor(userGrant.grant.authTime / 1000) }),
  }
}
