import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { UserDeclaration, UserPatch } from '../declarations.ts'
import { endOfUser } from '../end-session.ts'
import { mailLink } from '../mail-link.ts'
import { recipientMessage } from '../messages.ts'
import type { Parts } from '../parts.ts'
import { normalName, type User } from '../user.ts'
import type { newUserAnswer } from './answers.ts'
import { orConflict } from './clients.ts'

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

/** Makes a user; a password that is not given is made. @throws Problem 409 */
export async function createUser(parts: Parts, declaration: UserDeclaration): Promise<UserAnswer> {
  const { id, password } = declaration
  if (password !== undefined)
    parts.passwordRule.check(password, { username: declaration.username ?? id, ...declaration })
  const chosen = password ?? parts.passwordRule.generate()
  const user = {
    id,
    username: normalName(declaration.username ?? id),
    plan: declaration.plan ?? parts.defaultPlan,
    email: declaration.email,
    emailVerified: declaration.email_verified ?? false,
    roles: declaration.roles ?? [],
    claims: declaration.claims ?? {},
    passwordHash: await parts.passwords.hash(chosen),
  }
  await orConflict(parts.store.users.create(user, [recipientMessage(parts, id)], parts.clock.now()))
  parts.wakeOutbox()
  await askForProof(parts, id)
  return { ...(await readUserRecord(parts, id)), ...(password === undefined ? { password: chosen } : {}) }
}

/** Changes members of a user; those left out stay. Locking ends every session and grant. @throws Problem 404, 409 */
export async function changeUser(parts: Parts, id: string, patch: UserPatch): Promise<UserAnswer> {
  const user = await find(parts.store, id)
  const { locked, ...members } = patch
  if (Object.keys(members).length > 0) {
    const email = members.email ?? user.email
    const changed = {
      id,
      username: members.username === undefined ? user.username : normalName(members.username),
      plan: members.plan ?? user.plan,
      email,
      emailVerified: members.email_verified ?? (email === user.email && user.emailVerified),
      roles: members.roles ?? user.roles,
      claims: members.claims ?? user.claims,
      passwordHash: undefined,
    }
    const messages = [recipientMessage(parts, id)]
    if (!(await orConflict(parts.store.users.update(changed, messages, parts.clock.now())))) throw missing()
    parts.wakeOutbox()
    if (email !== user.email) await askForProof(parts, id)
  }
  if (locked !== undefined) {
    await parts.store.accounts.setLocked(id, locked, endOfUser(parts))
    parts.wakeOutbox()
  }
  return readUserRecord(parts, id)
}

/** Mails a link by which the user proves the address, unless it is proven. */
async function askForProof(parts: Parts, id: string): Promise<void> {
  const user = await find(parts.store, id)
  if (user.email !== undefined && !user.emailVerified) await mailLink(parts, 'verify', user)
}

/** Sets a password; every session, grant and API key of the user ends. @throws Problem 404, 422 for one that can't be */
export async function setPassword(parts: Parts, id: string, password: string): Promise<void> {
  parts.passwordRule.check(password, await find(parts.store, id))
  const hash = await parts.passwords.hash(password)
  const change = { userId: id, hash, endApiKeys: true }
  if (!(await parts.store.accounts.setPassword(change, endOfUser(parts)))) throw missing()
  parts.wakeOutbox()
}

/** Sets a password that is made here, and answers it, this once. @throws Problem 404 */
export async function renewPassword(
  parts: Parts,
  id: string,
): Promise<{ readonly id: string; readonly password: string }> {
  const password = parts.passwordRule.generate()
  await setPassword(parts, id, password)
  return { id, password }
}

/** Deletes the user and everything of theirs. @throws Problem 404 */
export async function removeUser(parts: Parts, id: string): Promise<void> {
  if (!(await parts.store.users.remove(id, endOfUser(parts)))) throw missing()
  await parts.store.outbox.put([recipientMessage(parts, id)])
  parts.wakeOutbox()
}

const missing = () => new Problem(404, 'There is no user with this id.')

async function find(store: Parts['store'], id: string): Promise<User> {
  const user = await store.users.find(id)
  if (user === undefined) throw missing()
  return user
}
