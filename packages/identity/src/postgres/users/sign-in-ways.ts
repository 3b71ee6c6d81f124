import type { Transaction } from '@gatehouse/kit'

/**
 * Counts the ways in which a user can sign in: the password and each passkey. The account's row must be locked, so that
 * of two that are removed at once the second is the last. A mailed link to reset the password is no way of its own.
 */
export async function countSignInWays(tx: Transaction, userId: string): Promise<number> {
  const { rows } = await tx.query<{ ways: number }>(
    `SELECT (SELECT count(*) FROM identity.account WHERE id = $1 AND password_hash IS NOT NULL)
          + (SELECT count(*) FROM identity.passkey WHERE user_id = $1) AS ways`,
    [userId],
  )
  return Number(rows[0]?.ways ?? 0)
}
