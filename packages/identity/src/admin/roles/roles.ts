import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { Parts } from '../../context/context.ts'
import type { Caller } from '../../model/caller.ts'
import { isManagementRole, type ManagementRole, managementRoles, scopesOfRoles } from '../../model/management-roles.ts'
import type { User } from '../../model/user.ts'
import type { Authority } from '../authority.ts'
import type { callerAnswer, memberAnswer, roleAnswer } from '../responses.ts'

/** A user who holds a management role. */
export type MemberAnswer = Static<typeof memberAnswer>

export function listRoles(): Static<typeof roleAnswer>[] {
  return managementRoles.map((role) => ({ role, scopes: [...scopesOfRoles([role])].sort() }))
}

/** @throws Problem 404 naming the roles that there are */
export function roleNamed(name: string): ManagementRole {
  if (isManagementRole(name)) return name
  throw new Problem(404, `There is no management role ${name}; there are ${managementRoles.join(', ')}.`)
}

export async function listMembers(
  { store }: Pick<Parts, 'store'>,
  role: ManagementRole,
  after: string,
  most: number,
): Promise<MemberAnswer[]> {
  return (await store.users.withRole(role, after, most)).map(memberOf)
}

/** @throws Problem 404 */
export async function readMember({ store }: Pick<Parts, 'store'>, role: string, id: string): Promise<MemberAnswer> {
  const user = await store.users.find(id)
  if (!user?.roles.includes(role)) throw new Problem(404, `No user with this id has the role ${role}.`)
  return memberOf(user)
}

function memberOf({ id, username, lockedAt }: User): MemberAnswer {
  return { user_id: id, username, locked: lockedAt !== undefined }
}

const readAtOnce = 500

/** Everybody who holds a management role, role by role. */
export async function listAdministrators(parts: Pick<Parts, 'store'>): Promise<(MemberAnswer & { role: string })[]> {
  const found: (MemberAnswer & { role: string })[] = []
  for (const role of managementRoles) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const members: MemberAnswer[] = await listMembers(parts, role, after, readAtOnce)
      found.push(...members.map((member) => ({ role, ...member })))
      after = members.length < readAtOnce ? undefined : members.at(-1)?.user_id
    }
  }
  return found
}

/** What a caller is and may do now. */
export async function aboutCaller(
  { store }: Pick<Parts, 'store'>,
  { kind, subject, grantId }: Caller,
  by: Authority,
): Promise<Static<typeof callerAnswer>> {
  const held = kind === 'user' && grantId !== undefined ? await store.grants.find(grantId) : undefined
  return {
    ...(kind === 'user' ? { user: subject } : { client: subject }),
    roles: [...by.roles],
    scopes: [...by.scopes].sort(),
    ...(held === undefined ? {} : { auth_time: Math.floor(held.grant.authTime / 1000) }),
  }
}
