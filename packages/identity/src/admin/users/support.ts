import { Problem } from '@gatehouse/kit'
import type { AdminContext } from '../../context/features.ts'
import { sendLink } from '../../mail/link.ts'
import { isManagementRole } from '../../model/management-roles.ts'
import { claimsOf, type User } from '../../model/user.ts'
import { type Authority, auditChange } from '../authority.ts'
import { findChangeableUser } from './users.ts'

/** Mails the user a link that verifies the address or resets the password. @throws Problem 403, 404, 422, 503 */
export async function mailUserLink(
  context: AdminContext,
  by: Authority,
  id: string,
  kind: 'verify' | 'reset',
): Promise<void> {
  const user = await findChangeableUser(context, by, id)
  const fault = findMailFault(context, user, kind)
  if (fault !== undefined) throw new Problem(422, fault, { errors: [{ pointer: '/kind', detail: fault }] })
  await auditChange(context, by, { action: 'users.mail', target: { type: 'user', id }, after: { kind } })
  await sendLink(context, kind, user)
}

function findMailFault({ mail, features }: AdminContext, user: User, kind: 'verify' | 'reset'): string | undefined {
  if (!mail) return 'Mail cannot be sent: no notification service is connected.'
  if (user.email === undefined) return 'The user has no email address.'
  if (kind === 'verify' && user.emailVerified) return 'The email address is already verified.'
  if (kind === 'reset' && user.roles.some(isManagementRole))
    return 'The user has a management role, so the password cannot be reset by mail; set one instead.'
  return kind === 'reset' && !features.passwordReset ? 'Password reset by mail is switched off.' : undefined
}

/** Which members to reveal, and why. */
export interface Reveal {
  readonly fields: readonly string[]
  /** The reason, recorded in the audit trail. */
  readonly reason: string
}

/** Returns single members of a user's personal data. @throws Problem 404, 503 */
export async function revealMembers(
  context: AdminContext,
  by: Authority,
  id: string,
  { fields, reason }: Reveal,
): Promise<Record<string, unknown>> {
  const user = await context.store.users.find(id)
  if (user === undefined) throw new Problem(404, 'There is no user with this id.')
  await auditChange(context, by, { action: 'users.reveal', target: { type: 'user', id }, after: { fields, reason } })
  const known: Record<string, unknown> = { ...claimsOf(user), username: user.username }
  return Object.fromEntries(fields.filter((field) => Object.hasOwn(known, field)).map((field) => [field, known[field]]))
}
