import { changedMembers, merged, Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { UserDeclaration, UserPatch } from '../../config/declarations.ts'
import type { Parts } from '../../context/context.ts'
import { mailLink } from '../../mail/link.ts'
import { recipientMessage } from '../../mail/messages.ts'
import { faultOfUserRole, ownerRole } from '../../model/management-roles.ts'
import { revocationTimes } from '../../model/revocation-times.ts'
import { normalName, type User } from '../../model/user.ts'
import { endOfUser } from '../../sessions/end-session.ts'
import type { NewUser, UserChange } from '../../store/index.ts'
import { type Authority, record, refuseRoleChange, refuseUnlessOverUser } from '../authority.ts'
import { orConflict, refuseTakenId } from '../clients/clients.ts'
import type { newUserAnswer } from '../responses.ts'
import { roleNamed } from '../roles/roles.ts'

/** A user as management shows it; the password is there when it was made just now, this once. */
export type UserAnswer = Static<typeof newUserAnswer>

function answerOf(user: User): UserAnswer {
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

export async function listUsers({ store }: Parts, after: string, most: number): Promise<UserAnswer[]> {
  return (await store.users.list(after, most)).map(answerOf)
}

/** @throws Problem 404 */
export async function readUserRecord({ store }: Parts, id: string): Promise<UserAnswer> {
  return answerOf(await find(store, id))
}

/** Makes a user; a password that is not given is made. @throws Problem 403, 409, 422, 503 */
export async function createUser(parts: Parts, by: Authority, declaration: UserDeclaration): Promise<UserAnswer> {
  const { id, password } = declaration
  const roles = declaration.roles ?? []
  refuseUnknownRoles(roles)
  refuseRoleChange(by, [], roles)
  if (password !== undefined)
    parts.passwordRule.check(password, { username: declaration.username ?? id, ...declaration })
  await refuseTakenId(parts, id)
  const chosen = password ?? parts.passwordRule.generate()
  const members = {
    username: normalName(declaration.username ?? id),
    plan: declaration.plan ?? parts.defaultPlan,
    email: declaration.email,
    emailVerified: declaration.email_verified ?? false,
    roles,
    claims: declaration.claims ?? {},
  }
  const user = { id, ...members, passwordHash: await parts.passwords.hash(chosen) }
  const after = recorded({ ...members, lockedAt: undefined })
  await record(parts, by, { action: 'users.create', target: target(id), after })
  await orConflict(parts.store.users.create(user, [recipientMessage(parts, id)], parts.clock.now()))
  parts.wakeOutbox()
  await askForProof(parts, id)
  return { ...(await readUserRecord(parts, id)), ...(password === undefined ? { password: chosen } : {}) }
}

export interface UserPatching extends UserPatch {
  /** Whether claims are merged into those there are, null removing one (RFC 7396). Default: they take their place. */
  readonly mergesClaims?: boolean
}

/**
 * Changes members of a user; those left out stay. Locking ends every session and grant.
 * @throws Problem 403, 404, 409, 422, 503
 */
export async function changeUser(parts: Parts, by: Authority, id: string, patch: UserPatching): Promise<UserAnswer> {
  const user = await userUnder(parts, by, id)
  const changed = changedUser(user, patch)
  refuseUnknownRoles(changed.roles)
  refuseRoleChange(by, user.roles, changed.roles)
  const lockedAt = patch.locked === undefined ? user.lockedAt : patch.locked ? parts.clock.now() : undefined
  if (lockedAt !== undefined || !changed.roles.includes(ownerRole)) await refuseLastOwner(parts, user)
  const changes = changedMembers(recorded(user), recorded({ ...changed, lockedAt }))
  await record(parts, by, { action: 'users.update', target: target(id), ...changes })
  const { locked, mergesClaims: _how, ...members } = patch
  if (Object.keys(members).length > 0) await writeUser(parts, user, changed)
  if (locked !== undefined) {
    refuseUnlessDone(await parts.store.accounts.setLocked(id, locked, endOfUser(parts)))
    parts.wakeOutbox()
  }
  return readUserRecord(parts, id)
}

function changedUser(user: User, patch: UserPatching): NewUser {
  const email = patch.email ?? user.email
  const { claims = user.claims, mergesClaims = false } = patch
  return {
    id: user.id,
    username: patch.username === undefined ? user.username : normalName(patch.username),
    plan: patch.plan ?? user.plan,
    email,
    emailVerified: patch.email_verified ?? (email === user.email && user.emailVerified),
    roles: patch.roles ?? user.roles,
    claims: mergesClaims && patch.claims ? merged(user.claims, claims) : claims,
    passwordHash: undefined,
  }
}

async function writeUser(parts: Parts, from: User, to: NewUser): Promise<void> {
  const messages = [recipientMessage(parts, to.id)]
  const result = await orConflict(parts.store.users.update(to, from, messages, revocationTimes(parts)))
  refuseUnlessDone(result)
  parts.wakeOutbox()
  if (to.email !== from.email) await askForProof(parts, to.id)
}

/** Grants a management role or revokes it; nothing happens when it is so already. @throws Problem 403, 404, 409, 503 */
export async function changeRole(parts: Parts, by: Authority, id: string, change: RoleChange): Promise<void> {
  const role = roleNamed(change.role)
  const user = await userUnder(parts, by, id)
  const others = user.roles.filter((one) => one !== role)
  const roles = change.granted ? [...others, role] : others
  refuseRoleChange(by, user.roles, roles)
  if (user.roles.includes(role) === change.granted) return
  if (!roles.includes(ownerRole)) await refuseLastOwner(parts, user)
  const action = change.granted ? 'roles.grant' : 'roles.revoke'
  await record(parts, by, { action, target: target(id), before: { roles: user.roles }, after: { roles } })
  await writeUser(parts, user, { ...changedUser(user, {}), roles })
}

export interface RoleChange {
  readonly role: string
  readonly granted: boolean
}

/**
 * Sets a password; every session, grant and API key of the user ends.
 * @throws Problem 403, 404, 422 for one that can't be set, 503
 */
export async function setPassword(parts: Parts, by: Authority, id: string, password: string): Promise<void> {
  parts.passwordRule.check(password, await userUnder(parts, by, id))
  const hash = await parts.passwords.hash(password)
  await record(parts, by, { action: 'users.set_password', target: target(id) })
  const change = { userId: id, hash, endApiKeys: true }
  if (!(await parts.store.accounts.setPassword(change, endOfUser(parts)))) throw missing()
  parts.wakeOutbox()
}

/** Sets a password that is made here, and answers it, this once. @throws Problem 403, 404, 503 */
export async function renewPassword(
  parts: Parts,
  by: Authority,
  id: string,
): Promise<{ readonly id: string; readonly password: string }> {
  const password = parts.passwordRule.generate()
  await setPassword(parts, by, id, password)
  return { id, password }
}

/** Deletes the user and everything of theirs. @throws Problem 403, 404, 409, 503 */
export async function removeUser(parts: Parts, by: Authority, id: string): Promise<void> {
  const user = await userUnder(parts, by, id)
  await refuseLastOwner(parts, user)
  await record(parts, by, { action: 'users.delete', target: target(id), before: recorded(user) })
  refuseUnlessDone(await parts.store.users.remove(id, endOfUser(parts)))
  await parts.store.outbox.put([recipientMessage(parts, id)])
  parts.wakeOutbox()
}

/** A user whom the caller may change. @throws Problem 403, 404 */
export async function userUnder(parts: Pick<Parts, 'store'>, by: Authority, id: string): Promise<User> {
  const user = await find(parts.store, id)
  refuseUnlessOverUser(by, user)
  return user
}

const target = (id: string) => ({ type: 'user', id })

/** What the audit trail keeps of a user. */
function recorded(user: Omit<NewUser, 'id' | 'passwordHash'> & Pick<User, 'lockedAt'>): Record<string, unknown> {
  const { username, plan, email, emailVerified, roles, claims, lockedAt } = user
  return { username, plan, email, email_verified: emailVerified, roles, claims, locked: lockedAt !== undefined }
}

function refuseUnknownRoles(roles: readonly string[]): void {
  const errors = roles.flatMap((role, index) => {
    const detail = faultOfUserRole(role)
    return detail === undefined ? [] : [{ pointer: `/roles/${index}`, detail }]
  })
  if (errors.length === 0) return
  throw new Problem(422, errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '), { errors })
}

/** @throws Problem 404, 409 */
function refuseUnlessDone(result: UserChange | 'outdated'): void {
  if (result === 'missing') throw missing()
  if (result === 'outdated') throw new Problem(409, 'The user was changed at the same time; read it and try again.')
  if (result === 'last_owner') throw lastOwner()
}

const lastOwner = () =>
  new Problem(409, `This is the last user with the role ${ownerRole} who can sign in; grant it to another first.`)

const mostOwners = 1_000

/** So that what is refused leaves no event; the store decides where two owners go at once. @throws Problem 409 */
async function refuseLastOwner({ store }: Pick<Parts, 'store'>, user: User): Promise<void> {
  if (!user.roles.includes(ownerRole) || user.lockedAt !== undefined) return
  const owners = await store.users.withRole(ownerRole, '', mostOwners)
  if (!owners.some(({ id, lockedAt }) => id !== user.id && lockedAt === undefined)) throw lastOwner()
}

/** Mails a link by which the user proves the address, unless it is proven. */
async function askForProof(parts: Parts, id: string): Promise<void> {
  const user = await find(parts.store, id)
  if (user.email !== undefined && !user.emailVerified) await mailLink(parts, 'verify', user)
}

const missing = () => new Problem(404, 'There is no user with this id.')

async function find(store: Parts['store'], id: string): Promise<User> {
  const user = await store.users.find(id)
  if (user === undefined) throw missing()
  return user
}
