import type { Transaction } from '@gatehouse/kit'
import type { FactorChange, RaisedSession } from '../store/index.ts'

/**
 * Locks an account and then its session until the end of the transaction, for a factor that is enrolled there. False when
 * `verified` is not the current version of the credentials, the account is locked, or the session has ended. Enrolments of
 * one user wait for each other here.
 */
export async function lockForEnrolment(
  tx: Transaction,
  { userId, verified }: Pick<FactorChange, 'userId' | 'verified'>,
  session: Pick<RaisedSession, 'id'>,
): Promise<boolean> {
  const { rowCount: current } = await tx.query(
    `SELECT 1 FROM identity.account WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL FOR NO KEY UPDATE`,
    [userId, verified],
  )
  if (current === 0) return false
  const text = 'SELECT 1 FROM identity.session WHERE id = $1 AND user_id = $2 FOR UPDATE'
  return (await tx.query(text, [session.id, userId])).rowCount === 1
}

/** Adds the methods of a factor to its session, and changes the cookie. */
export async function raiseSession(tx: Transaction, { id, amr, secretHash }: RaisedSession): Promise<void> {
  await tx.query(
    `UPDATE identity.session n SET secret_hash = $3, remembered = false,
       amr = n.amr || ARRAY(SELECT m FROM unnest($2::text[]) m WHERE m <> ALL (n.amr)) WHERE n.id = $1`,
    [id, amr, secretHash],
  )
}
