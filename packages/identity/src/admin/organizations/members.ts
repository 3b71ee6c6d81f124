import { entityTagOf, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import type { NoticeKind } from '../../mail/messages.ts'
import { createNotices } from '../../mail/notices.ts'
import { revocationTimes } from '../../model/grants/revocation-times.ts'
import { organizationOwner } from '../../model/organization.ts'
import type { Member, MemberResult, OutboxMessage } from '../../store/index.ts'
import {
  auditOrganization,
  type OrganizationCaller,
  requireAssignable,
  requireOrganization,
  requireRoles,
  throwNotFound,
} from './caller.ts'
import type { organizationMemberSchema } from './schemas.ts'

/** A member as the API returns it. */
export type OrganizationMemberResponse = Static<typeof organizationMemberSchema>

function formatMember({ userId, username, email, roles, createdAt }: Member): OrganizationMemberResponse {
  return {
    user_id: userId,
    username,
    ...(email === undefined ? {} : { email }),
    roles: [...roles],
    created_at: new Date(createdAt).toISOString(),
  }
}

/** Lists members in the order of their ids. @throws Problem 404 */
export async function listOrganizationMembers(
  context: AdminContext,
  caller: OrganizationCaller,
  after: string,
  limit: number,
): Promise<OrganizationMemberResponse[]> {
  await requireOrganization(context, caller)
  return (await context.store.memberships.listMembers(caller.organizationId, after, limit)).map(formatMember)
}

/** The entity tag of a member. It says nothing about personal data. */
const tagOf = (member: Member | undefined) =>
  member && entityTagOf({ user_id: member.userId, roles: member.roles, created_at: member.createdAt })

/** Reads a member with the entity tag. @throws Problem 404 */
export async function readOrganizationMember(
  { store }: AdminContext,
  { organizationId }: OrganizationCaller,
  userId: string,
): Promise<{ readonly member: OrganizationMemberResponse; readonly etag: string }> {
  const found = await store.memberships.findMember(organizationId, userId)
  const etag = tagOf(found)
  return found === undefined || etag === undefined ? throwNotFound('member') : { member: formatMember(found), etag }
}

/** The roles that a member shall have. */
export interface MemberUpdate {
  readonly roles: readonly string[]
  /** The header If-Match: the member is changed only if they are as read. */
  readonly ifMatch?: string | undefined
}

/**
 * Replaces the roles of a member, and for management adds one; without effect when they are so already. Members are
 * otherwise added by invitation, so that nobody becomes one unasked.
 * @throws Problem 403, 404, 409, 412, 422, 503
 */
export async function putMember(
  context: AdminContext,
  caller: OrganizationCaller,
  userId: string,
  { roles: keys, ifMatch }: MemberUpdate,
): Promise<void> {
  const { organizationId } = caller
  const found = await context.store.memberships.findMember(organizationId, userId)
  if (found === undefined) await requireAddable(context, caller, userId)
  requireMatch(ifMatch, tagOf(found))
  const known = await context.store.organizationRoles.list(organizationId)
  requireRoles(known, keys)
  const before = found?.roles ?? []
  const changed = [...before, ...keys].filter((key) => before.includes(key) !== keys.includes(key))
  if (found !== undefined && changed.length === 0) return
  requireAssignable(
    caller,
    known.filter(({ key }) => changed.includes(key)),
  )
  const roles = [...keys].sort()
  const action = found === undefined ? 'organization_members.add' : 'organization_members.update'
  await auditOrganization(context, caller, {
    action,
    ...(found === undefined ? {} : { before: { user_id: userId, roles: before } }),
    after: { user_id: userId, roles },
  })
  const kind = found === undefined ? 'organization_joined' : 'organization_roles_changed'
  const messages = await noticesFor(context, caller, userId, { kind, roles })
  const change = { organizationId, userId, roles, expected: found?.roles, now: context.clock.now(), messages }
  await requireChanged(context, change, await context.store.memberships.put(change), ifMatch)
  context.signalOutbox()
}

interface MemberFacts {
  readonly kind: NoticeKind
  readonly roles?: readonly string[]
}

/** The notices of what is done to a member; they name the organization and not who did it. */
async function noticesFor(
  context: AdminContext,
  { organizationId }: OrganizationCaller,
  userId: string,
  { kind, roles }: MemberFacts,
): Promise<readonly OutboxMessage[]> {
  const [organization, user] = await Promise.all([
    context.store.organizations.find(organizationId),
    context.store.users.find(userId),
  ])
  if (organization === undefined || user === undefined) return []
  const facts = { organization: organization.name, ...(roles && { roles: roles.join(', ') }) }
  return createNotices(context, { user, kind, request: undefined, facts })
}

async function requireAddable(context: AdminContext, caller: OrganizationCaller, userId: string): Promise<void> {
  if (caller.member !== undefined) throwNotFound('member')
  await requireOrganization(context, caller)
  if ((await context.store.users.find(userId)) === undefined) throwNotFound('user')
}

/**
 * Removes a member. Their tokens for the organization end at once.
 * @throws Problem 403, 404, 409, 412, 503
 */
export async function removeMember(
  context: AdminContext,
  caller: OrganizationCaller,
  userId: string,
  ifMatch?: string,
): Promise<void> {
  const { organizationId } = caller
  const found = await context.store.memberships.findMember(organizationId, userId)
  if (found === undefined) return throwNotFound('member')
  requireMatch(ifMatch, tagOf(found))
  const known = await context.store.organizationRoles.list(organizationId)
  requireAssignable(
    caller,
    known.filter(({ key }) => found.roles.includes(key)),
  )
  const before = { user_id: userId, roles: found.roles }
  await auditOrganization(context, caller, { action: 'organization_members.remove', before })
  const messages = await noticesFor(context, caller, userId, { kind: 'organization_left' })
  const member = { organizationId, userId, expected: found.roles, messages }
  const result = await context.store.memberships.remove(member, revocationTimes(context))
  await requireChanged(context, member, result, ifMatch)
  context.signalOutbox()
}

/** @throws Problem 404, 409, 412 */
async function requireChanged(
  { store }: AdminContext,
  { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
  result: MemberResult,
  ifMatch: string | undefined,
): Promise<void> {
  if (result === 'missing') throwNotFound('member')
  if (result === 'last_owner')
    throw new Problem(409, `This is the last member with the role ${organizationOwner}; grant it to another first.`)
  if (result === 'outdated' && ifMatch !== undefined)
    throw preconditionFailed(tagOf(await store.memberships.findMember(organizationId, userId)))
  if (result === 'outdated' || result === 'unknown_role')
    throw new Problem(409, 'The member or a role was changed at the same time; read them again and retry.')
}
