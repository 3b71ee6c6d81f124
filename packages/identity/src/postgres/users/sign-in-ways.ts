import type { Transaction } from '@gatehouse/kit'

/**
 * Counts the ways in which a user can sign in: the password, each passkey, and each account at another provider whose
 * connection may sign in; all but the link `exceptLink`. The account's row must be locked, so that of two that are removed
 * at once the second is the last. What is mailed is no way of its own.
 */
export async function countSignInWays(tx: Transaction, userId: string, exceptLink?: string): Promise<number> {
  const { rows } = await tx.query<{ ways: number }>(
    `SELECT (SELECT count(*) FROM identity.account WHERE id = $1 AND password_hash IS NOT NULL)
          + (SELECT count(*) FROM identity.passkey WHERE user_id = $1)
          + (SELECT count(*) FROM identity.linked_account l
               JOIN identity.connection c ON c.id = l.connection_id AND c.enabled
              WHERE l.user_id = $1 AND l.id IS DISTINCT FROM $2::uuid
                AND coalesce((c.settings ->> 'link_only')::boolean, false) = false) AS ways`,
    [userId, exceptLink ?? null],
  )
  return Number(rows[0]?.ways ?? 0)
}
