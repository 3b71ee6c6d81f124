import type { Transaction } from '@gatehouse/kit'

/**
 * Whether the user has a way to sign in beside the link `$2`: a password, or another link whose connection may sign in.
 */
const otherWay = `SELECT 1 FROM identity.account a WHERE a.id = $1 AND (
    a.password_hash IS NOT NULL
    OR EXISTS (
      SELECT 1 FROM identity.linked_account l JOIN identity.connection c ON c.id = l.connection_id AND c.enabled
      WHERE l.user_id = a.id AND l.id <> $2 AND coalesce((c.settings ->> 'link_only')::boolean, false) = false
    )
  )`

/** Whether the user could still sign in without this link. The account's row must be locked. */
export async function hasOtherWayToSignIn(tx: Transaction, userId: string, linkId: string): Promise<boolean> {
  return (await tx.query(otherWay, [userId, linkId])).rowCount === 1
}
