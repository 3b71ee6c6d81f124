import { type Database, sqlState } from '@gatehouse/kit'
import { maxCodeAttempts } from '../../model/factors/mailed-code.ts'
import { usernameFor } from '../../model/user.ts'
import {
  type EmailChange,
  type EmailChanges,
  type EmailCodeAttempt,
  NameConflict,
  type OutboxMessage,
} from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { orUndefined } from '../rows.ts'
import { removeStaleLinks } from './mailed-links.ts'
import { removeRegistrations, requireFreeNames, uniqueViolation } from './users.ts'

/** Whether the change is the one of this page, and the account is still as it was when it began. */
const isOpen = `user_id = $1 AND browser_hash = $2 AND challenge_hash = $3 AND expires_at > $4
  AND EXISTS (SELECT 1 FROM identity.account a WHERE a.id = user_id AND a.credential_version = email_change.credential_version
    AND a.email IS NOT DISTINCT FROM previous_email AND a.locked_at IS NULL)`

const lockAccount = 'SELECT username, email FROM identity.account WHERE id = $1 FOR NO KEY UPDATE'

/** Changes of addresses in `identity.email_change`. */
export class PostgresEmailChanges implements EmailChanges {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(change: EmailChange, messages: readonly OutboxMessage[]): Promise<void> {
    return this.#database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO identity.email_change (user_id, email, browser_hash, challenge_hash, code_hash, expires_at,
           previous_email, credential_version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (user_id) DO UPDATE SET previous_email = excluded.previous_email,
           credential_version = excluded.credential_version, email = excluded.email, browser_hash = excluded.browser_hash,
           challenge_hash = excluded.challenge_hash, code_hash = excluded.code_hash, wrong_codes = 0,
           expires_at = excluded.expires_at`,
        [
          change.userId,
          change.email,
          change.browserHash,
          change.challengeHash,
          change.codeHash,
          change.expiresAt,
          change.previousEmail ?? null,
          change.credentialVersion,
        ],
      )
      await putMessages(tx, messages)
    })
  }

  async find(attempt: Omit<EmailCodeAttempt, 'codeHash'>, now: number): Promise<string | undefined> {
    const { userId, browserHash, challengeHash } = attempt
    const { rows } = await this.#database.query<{ email: string }>(
      `SELECT email FROM identity.email_change WHERE ${isOpen} AND wrong_codes < $5`,
      [userId, browserHash, challengeHash, now, maxCodeAttempts],
    )
    return rows[0]?.email
  }

  async complete(
    { userId, browserHash, challengeHash, codeHash }: EmailCodeAttempt,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'changed' | 'wrong' | 'in_use'> {
    const open = [userId, browserHash, challengeHash, now]
    // Counted in a statement of its own, so that of many attempts at once no more than these compare their code.
    const counted = await this.#database.query(
      `UPDATE identity.email_change SET wrong_codes = wrong_codes + 1 WHERE ${isOpen} AND wrong_codes < $5`,
      [...open, maxCodeAttempts],
    )
    if (counted.rowCount === 0) return 'wrong'
    try {
      return await this.#database.transaction(async (tx) => {
        // Another change of the account comes before this one, and voids it, or waits for it.
        const [account] = (await tx.query<{ username: string; email: string | null }>(lockAccount, [userId])).rows
        const { rows } = await tx.query<{ email: string }>(
          `DELETE FROM identity.email_change WHERE ${isOpen} AND code_hash = $5 RETURNING email`,
          [...open, codeHash],
        )
        const [change] = rows
        if (account === undefined || change === undefined) return 'wrong'
        const { email } = change
        const username = usernameFor({ ...account, email: orUndefined(account.email) }, email)
        await requireFreeNames(tx, { id: userId, username, email })
        await tx.query(
          `UPDATE identity.account SET username = $2, email = $3, email_verified = true, updated_at = $4 WHERE id = $1`,
          [userId, username, email, now],
        )
        await removeStaleLinks(tx, userId, email)
        await removeRegistrations(tx, email)
        await putMessages(tx, messages)
        return 'changed'
      })
    } catch (error) {
      if (error instanceof NameConflict || sqlState(error) === uniqueViolation) return 'in_use'
      throw error
    }
  }
}
