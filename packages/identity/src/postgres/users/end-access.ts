import type { Transaction } from '@gatehouse/kit'
import type { KeptSession, SignOutOptions } from '../../store/index.ts'
import { revokeGrantsOfUser } from '../grants/grants.ts'
import { endSessions } from '../sessions.ts'
import { removeCredentialLinks } from './mailed-links.ts'

/** What ends together with the sessions, mailed links and grants of a user. */
export interface EndedAccess {
  /** The session that continues, with another cookie: somebody may have a copy of the one before. */
  readonly keepSession?: KeptSession | undefined
  /** Whether the user's API keys end too: where somebody else may have had the account. */
  readonly endApiKeys: boolean
}

/**
 * Ends what a user was signed in to, or could sign in to, with credentials that have changed. The version of the
 * credentials must have changed before in the transaction, whose last step this is.
 */
export async function endAccess(
  tx: Transaction,
  userId: string,
  { keepSession, endApiKeys }: EndedAccess,
  end: SignOutOptions,
): Promise<void> {
  const { grants } = await endSessions(tx, userId, { keep: keepSession?.id }, end)
  if (keepSession !== undefined) {
    const values = [keepSession.id, userId, keepSession.secretHash]
    await tx.query('UPDATE identity.session SET secret_hash = $3 WHERE id = $1 AND user_id = $2', values)
  }
  await removeCredentialLinks(tx, userId)
  if (endApiKeys) await tx.query('DELETE FROM identity.api_key WHERE owner = $1', [userId])
  await revokeGrantsOfUser(tx, userId, end, grants)
}
