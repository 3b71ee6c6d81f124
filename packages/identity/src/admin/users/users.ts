import { applyMergePatch, changedMembers, entityTagOf, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { UserDeclaration, UserPatch } from '../../config/declarations.ts'
import type { AdminContext } from '../../context/features.ts'
import { sendLink } from '../../mail/link.ts'
import { createRecipientMessage } from '../../mail/messages.ts'
import { createNotices } from '../../mail/notices.ts'
import { revocationTimes } from '../../model/grants/revocation-times.ts'
import { ownerRole } from '../../model/management-roles.ts'
import { normalizeName, type User, usernameFor } from '../../model/user.ts'
import { signOutOptions } from '../../sessions/end-session.ts'
import { type NewUser, RolesChanged, type UserChange } from '../../store/index.ts'
import { type Authority, auditChange, requireAuthorityOverUser, requireRoleAuthority } from '../authority.ts'
import { reportConflict, requireFreeId } from '../clients/clients.ts'
import { requireKnownPlan } from '../limits/plans.ts'
import type { newUserSchema } from '../responses.ts'
import { parseRole, requireKnownRoles } from '../roles/roles.ts'

/** A user as management returns it; with the password when it was just generated. */
export type UserResponse = Static<typeof newUserSchema>

/** A user as management returns it. */
export function formatUser(user: User): UserResponse {
  return {
    id: user.id,
    username: user.username,
    ...(user.email === undefined ? {} : { email: user.email }),
    email_verified: user.emailVerified,
    ...(user.plan === undefined ? {} : { plan: user.plan }),
    roles: [...user.roles],
    claims: user.claims,
    locked: user.lockedAt !== undefined,
    created_at: new Date(user.createdAt).toISOString(),
    updated_at: new Date(user.updatedAt).toISOString(),
  }
}

/**
 * The entity tag of a user. It is not computed from personal data alone, so that callers who may not read that can't
 * confirm a guess.
 */
function tagOf(user: User): string {
  return entityTagOf([formatUser(user), user.credentialVersion])
}

/** Reads a user with the entity tag. @throws Problem 404 */
export async function readTaggedUser(
  { store }: AdminContext,
  id: string,
): Promise<{ readonly user: UserResponse; readonly etag: string }> {
  const user = await find(store, id)
  return { user: formatUser(user), etag: tagOf(user) }
}

/** @throws Problem 404 */
async function readUser({ store }: AdminContext, id: string): Promise<UserResponse> {
  return formatUser(await find(store, id))
}

/** Creates a user; without a password one is generated. @throws Problem 403, 409, 422, 503 */
export async function createUser(
  context: AdminContext,
  by: Authority,
  declaration: UserDeclaration,
): Promise<UserResponse> {
  const { id, password } = declaration
  const roles = declaration.roles ?? []
  requireKnownRoles(roles)
  await requireRoleAuthority(context, by, [], roles)
  await requireKnownPlan(context, by, undefined, declaration.plan)
  if (password !== undefined)
    context.passwordPolicy.requireAcceptable(password, { username: declaration.username ?? id, ...declaration })
  await requireFreeId(context, id)
  const chosen = password ?? context.passwordPolicy.generate()
  const members = {
    username: normalizeName(declaration.username ?? id),
    plan: declaration.plan ?? context.defaultPlan,
    email: declaration.email,
    emailVerified: declaration.email_verified ?? false,
    roles,
    claims: declaration.claims ?? {},
  }
  const user = { id, ...members, passwordHash: await context.passwords.hash(chosen) }
  const after = auditedMembers({ ...members, lockedAt: undefined })
  await auditChange(context, by, { action: 'users.create', target: target(id), after })
  await reportConflict(context.store.users.create(user, [createRecipientMessage(context, id)], context.clock.now()))
  context.signalOutbox()
  await mailVerificationLink(context, id)
  return { ...(await readUser(context, id)), ...(password === undefined ? { password: chosen } : {}) }
}

/** A change of a user. */
export interface UserUpdate extends UserPatch {
  /** Whether claims are merged into the existing ones, null removing one (RFC 7396). Default: they replace them. */
  readonly mergesClaims?: boolean
  /** The header If-Match: the user is changed only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

/**
 * Updates members of a user; those left out stay. Locking ends every session and grant.
 * @throws Problem 403, 404, 409, 412, 422, 503
 */
export async function updateUser(
  context: AdminContext,
  by: Authority,
  id: string,
  { ifMatch, ...patch }: UserUpdate,
): Promise<UserResponse> {
  const user = await findChangeableUser(context, by, id)
  requireMatch(ifMatch, tagOf(user))
  const changed = applyPatch(user, patch)
  requireKnownRoles(changed.roles)
  await requireKnownPlan(context, by, user.plan, changed.plan)
  await requireRoleAuthority(context, by, user.roles, changed.roles)
  const lockedAt = patch.locked === undefined ? user.lockedAt : patch.locked ? context.clock.now() : undefined
  if (lockedAt !== undefined || !changed.roles.includes(ownerRole)) await requireOtherOwner(context, user)
  const changes = changedMembers(auditedMembers(user), auditedMembers({ ...changed, lockedAt }))
  await auditChange(context, by, { action: 'users.update', target: target(id), ...changes })
  const { locked, mergesClaims: _how, ...members } = patch
  const orOutdated = (work: Promise<void>) => (ifMatch === undefined ? work : orPreconditionFailed(context, id, work))
  if (Object.keys(members).length > 0) await orOutdated(writeUser(context, user, changed))
  if (locked !== undefined) {
    const expected = ifMatch === undefined ? undefined : user
    const write = context.store.accounts.setLocked(id, locked, signOutOptions(context), expected, changed.roles)
    await orOutdated(reportChangedRoles(write).then(requireChanged))
    context.signalOutbox()
  }
  return readUser(context, id)
}

/** A request with If-Match whose user was changed at the same time fails for that. */
async function orPreconditionFailed(context: AdminContext, id: string, work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof OutdatedUser)) throw error
    throw preconditionFailed((await readTaggedUser(context, id)).etag)
  }
}

function applyPatch(user: User, patch: UserUpdate): NewUser {
  const email = patch.email ?? user.email
  const { claims = user.claims, mergesClaims = false } = patch
  return {
    id: user.id,
    username: patch.username === undefined ? usernameFor(user, email) : normalizeName(patch.username),
    plan: patch.plan ?? user.plan,
    email,
    emailVerified: patch.email_verified ?? (email === user.email && user.emailVerified),
    roles: patch.roles ?? user.roles,
    claims: mergesClaims && patch.claims ? mergeClaims(user.claims, patch.claims) : claims,
    passwordHash: undefined,
  }
}

/** Another phone number is not verified because the one before was. */
function mergeClaims(before: User['claims'], patch: User['claims']): User['claims'] {
  const { phone_number_verified: verified, ...merged } = applyMergePatch(before, patch)
  const vouches = merged.phone_number === before.phone_number || 'phone_number_verified' in patch
  return vouches && verified !== undefined ? { ...merged, phone_number_verified: verified } : merged
}

async function writeUser(context: AdminContext, from: User, to: NewUser): Promise<void> {
  const { email } = to
  const notices =
    email === undefined || email.toLowerCase() === from.email?.toLowerCase()
      ? []
      : createNotices(context, { user: from, kind: 'email_changed', request: undefined, facts: { email } })
  const messages = [createRecipientMessage(context, to.id), ...notices]
  const result = await reportConflict(context.store.users.update(to, from, messages, () => revocationTimes(context)))
  requireChanged(result)
  context.signalOutbox()
  if (to.email !== from.email) await mailVerificationLink(context, to.id)
}

/** Grants or revokes a management role; without effect when it is so already. @throws Problem 403, 404, 409, 412, 503 */
export async function changeRole(context: AdminContext, by: Authority, id: string, change: RoleChange): Promise<void> {
  const role = parseRole(change.role)
  const user = await findChangeableUser(context, by, id)
  requireMatch(change.ifMatch, tagOf(user))
  const others = user.roles.filter((one) => one !== role)
  const roles = change.granted ? [...others, role] : others
  await requireRoleAuthority(context, by, user.roles, roles)
  if (user.roles.includes(role) === change.granted) return
  if (!roles.includes(ownerRole)) await requireOtherOwner(context, user)
  const action = change.granted ? 'roles.grant' : 'roles.revoke'
  await auditChange(context, by, { action, target: target(id), before: { roles: user.roles }, after: { roles } })
  const work = writeUser(context, user, { ...applyPatch(user, {}), roles })
  await (change.ifMatch === undefined ? work : orPreconditionFailed(context, id, work))
}

/** Grants a role to a user, or revokes it. */
export interface RoleChange {
  readonly role: string
  readonly granted: boolean
  /** The header If-Match, with the entity tag of the user: the roles are changed only if the user is as read. */
  readonly ifMatch?: string | undefined
}

/** Deletes the user with all sessions, grants and keys. @throws Problem 403, 404, 409, 503 */
export async function deleteUser(context: AdminContext, by: Authority, id: string): Promise<void> {
  const user = await findChangeableUser(context, by, id)
  await requireOtherOwner(context, user)
  await auditChange(context, by, { action: 'users.delete', target: target(id), before: auditedMembers(user) })
  const messages = [createRecipientMessage(context, id)]
  const removed = context.store.users.remove(id, signOutOptions(context), messages, user.roles)
  requireChanged(await reportChangedRoles(removed))
  context.signalOutbox()
}

/** Finds a user whom the caller may change. @throws Problem 403, 404 */
export async function findChangeableUser(
  context: Pick<AdminContext, 'store'>,
  by: Authority,
  id: string,
): Promise<User> {
  const user = await find(context.store, id)
  await requireAuthorityOverUser(context, by, user)
  return user
}

/** A user as the target of an audited change. */
export const target = (id: string) => ({ type: 'user', id })

/** The members of a user that the audit trail records. */
function auditedMembers(user: Omit<NewUser, 'id' | 'passwordHash'> & Pick<User, 'lockedAt'>): Record<string, unknown> {
  const { username, plan, email, emailVerified, roles, claims, lockedAt } = user
  return { username, plan, email, email_verified: emailVerified, roles, claims, locked: lockedAt !== undefined }
}

/** @throws Problem 404, 409 */
function requireChanged(result: UserChange | 'outdated'): void {
  if (result === 'missing') throw notFound()
  if (result === 'outdated') throw new OutdatedUser()
  if (result === 'last_owner') throw lastOwner()
}

/** The user was changed between reading and writing. */
class OutdatedUser extends Problem {
  constructor() {
    super(409, 'The user was changed at the same time; read it again and retry.')
  }
}

/** Awaits a change that the user's roles allowed. @throws Problem 409 when the user has others by now */
export async function reportChangedRoles<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof RolesChanged ? new OutdatedUser() : error
  }
}

const lastOwner = () =>
  new Problem(409, `This is the last user with the role ${ownerRole} who can sign in; grant it to another first.`)

const maxOwners = 1_000

/**
 * Rejects the change before it is audited; the store decides when two owners leave at the same time. @throws Problem
 * 409
 */
async function requireOtherOwner({ store }: Pick<AdminContext, 'store'>, user: User): Promise<void> {
  if (!user.roles.includes(ownerRole) || user.lockedAt !== undefined) return
  const owners = await store.users.listByRole(ownerRole, '', maxOwners)
  if (!owners.some(({ id, lockedAt }) => id !== user.id && lockedAt === undefined)) throw lastOwner()
}

/** Mails a link that verifies the address, unless it is verified. */
async function mailVerificationLink(context: AdminContext, id: string): Promise<void> {
  const user = await find(context.store, id)
  if (user.email !== undefined && !user.emailVerified) await sendLink(context, 'verify', user)
}

/** There is no such user. */
export const notFound = () => new Problem(404, 'There is no user with this id.')

async function find(store: AdminContext['store'], id: string): Promise<User> {
  const user = await store.users.find(id)
  if (user === undefined) throw notFound()
  return user
}
