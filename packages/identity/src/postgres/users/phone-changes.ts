import type { Database } from '@gatehouse/kit'
import { maxCodeAttempts } from '../../model/factors/mailed-code.ts'
import type { OutboxMessage, PhoneChange, PhoneChanges, PhoneCodeAttempt } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'

const isOpen = 'user_id = $1 AND browser_hash = $2 AND challenge_hash = $3 AND expires_at > $4'

/** New phone numbers in `identity.phone_change`. */
export class PostgresPhoneChanges implements PhoneChanges {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(change: PhoneChange, messages: readonly OutboxMessage[]): Promise<void> {
    const { userId, phoneNumber, browserHash, challengeHash, codeHash, expiresAt } = change
    return this.#database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO identity.phone_change (user_id, phone_number, browser_hash, challenge_hash, code_hash, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (user_id) DO UPDATE SET phone_number = excluded.phone_number,
           browser_hash = excluded.browser_hash, challenge_hash = excluded.challenge_hash,
           code_hash = excluded.code_hash, wrong_codes = 0, expires_at = excluded.expires_at`,
        [userId, phoneNumber, browserHash, challengeHash, codeHash, expiresAt],
      )
      await putMessages(tx, messages)
    })
  }

  async find(
    { userId, browserHash, challengeHash }: Omit<PhoneCodeAttempt, 'codeHash'>,
    now: number,
  ): Promise<string | undefined> {
    const { rows } = await this.#database.query<{ phone_number: string }>(
      `SELECT phone_number FROM identity.phone_change WHERE ${isOpen} AND wrong_codes < $5`,
      [userId, browserHash, challengeHash, now, maxCodeAttempts],
    )
    return rows[0]?.phone_number
  }

  async complete(
    { userId, browserHash, challengeHash, codeHash }: PhoneCodeAttempt,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'changed' | 'wrong'> {
    const open = [userId, browserHash, challengeHash, now]
    // Counted in a statement of its own, so that of many attempts at once no more than these compare their code.
    const counted = await this.#database.query(
      `UPDATE identity.phone_change SET wrong_codes = wrong_codes + 1 WHERE ${isOpen} AND wrong_codes < $5`,
      [...open, maxCodeAttempts],
    )
    if (counted.rowCount === 0) return 'wrong'
    return this.#database.transaction(async (tx) => {
      const { rows } = await tx.query<{ phone_number: string }>(
        `DELETE FROM identity.phone_change WHERE ${isOpen} AND code_hash = $5 RETURNING phone_number`,
        [...open, codeHash],
      )
      const [change] = rows
      if (change === undefined) return 'wrong'
      const claims = { phone_number: change.phone_number, phone_number_verified: true }
      await tx.query('UPDATE identity.account SET claims = claims || $2::jsonb, updated_at = $3 WHERE id = $1', [
        userId,
        JSON.stringify(claims),
        now,
      ])
      await putMessages(tx, messages)
      return 'changed'
    })
  }

  clear(userId: string, messages: readonly OutboxMessage[], now: number): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      await tx.query('DELETE FROM identity.phone_change WHERE user_id = $1', [userId])
      const { rowCount } = await tx.query(
        `UPDATE identity.account SET claims = claims - ARRAY['phone_number', 'phone_number_verified'], updated_at = $2
         WHERE id = $1 AND claims ? 'phone_number'`,
        [userId, now],
      )
      if (rowCount === 1) await putMessages(tx, messages)
      return rowCount === 1
    })
  }
}
