import { isManagementRole } from '../model/management-roles.ts'
import type { User } from '../model/user.ts'
import type { ProviderProfile } from './profile.ts'

/**
 * What happens to a user of a provider who is linked to no account:
 * - `create`: an account is created;
 * - `link`: the account with the address is linked without a question;
 * - `sign_in_first`: there is an account with the address, whose owner may link it after signing in to it;
 * - `refuse`: there is no account, and none is created.
 */
export type UnlinkedOutcome = 'create' | 'link' | 'sign_in_first' | 'refuse'

/**
 * Decides about a user of a provider who is linked to no account. An address alone never opens an account: the provider
 * must be authoritative for it, and the account must have proven it. Accounts with a management role are never linked
 * without their owner, as they get no mailed reset link.
 */
export function decideUnlinked(
  { email, isAuthoritative }: Pick<ProviderProfile, 'email' | 'isAuthoritative'>,
  local: Pick<User, 'email' | 'emailVerified' | 'roles'> | undefined,
  mayCreate: boolean,
): UnlinkedOutcome {
  if (local === undefined) return mayCreate ? 'create' : 'refuse'
  const isSame = email !== undefined && local.email?.toLowerCase() === email
  const mayLink = isAuthoritative && isSame && local.emailVerified && !local.roles.some(isManagementRole)
  return mayLink ? 'link' : 'sign_in_first'
}
