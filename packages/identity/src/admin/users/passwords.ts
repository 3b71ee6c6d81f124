import type { AdminContext } from '../../context/features.ts'
import { createNotices } from '../../mail/notices.ts'
import { signOutOptions } from '../../sessions/end-session.ts'
import { type Authority, auditChange } from '../authority.ts'
import { findChangeableUser, notFound, reportChangedRoles, target } from './users.ts'

/**
 * Sets a password; every session, grant and API key of the user ends.
 * @throws Problem 403, 404, 409, 422 for an unacceptable password, 503
 */
export async function setPassword(context: AdminContext, by: Authority, id: string, password: string): Promise<void> {
  const user = await findChangeableUser(context, by, id)
  context.passwordPolicy.requireAcceptable(password, user)
  const hash = await context.passwords.hash(password)
  await auditChange(context, by, { action: 'users.set_password', target: target(id) })
  const messages = createNotices(context, { user, kind: 'password_changed', request: undefined })
  const change = { userId: id, hash, endApiKeys: true, expectedRoles: user.roles, messages }
  const changed = await reportChangedRoles(context.store.accounts.setPassword(change, signOutOptions(context)))
  if (!changed) throw notFound()
  context.signalOutbox()
}

/** Sets a generated password and returns it, this once. @throws Problem 403, 404, 409, 503 */
export async function generatePassword(
  context: AdminContext,
  by: Authority,
  id: string,
): Promise<{ readonly id: string; readonly password: string }> {
  const password = context.passwordPolicy.generate()
  await setPassword(context, by, id, password)
  return { id, password }
}
