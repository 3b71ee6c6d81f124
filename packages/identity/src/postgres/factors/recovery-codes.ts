import type { Database } from '@gatehouse/kit'
import type { FactorChange, OutboxMessage, RecoveryCodes } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'

/** Recovery codes in `identity.recovery_code`. */
export class PostgresRecoveryCodes implements RecoveryCodes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  use(userId: string, hash: string, messages: readonly OutboxMessage[]): Promise<number | undefined> {
    return this.#database.transaction(async (tx) => {
      const removal = 'DELETE FROM identity.recovery_code WHERE user_id = $1 AND hash = $2'
      if ((await tx.query(removal, [userId, hash])).rowCount === 0) return undefined
      await putMessages(tx, messages)
      const left = 'SELECT count(*)::int AS count FROM identity.recovery_code WHERE user_id = $1'
      return (await tx.query<{ count: number }>(left, [userId])).rows[0]?.count ?? 0
    })
  }

  replace(hashes: readonly string[], { userId, verified, messages, now }: FactorChange): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      // The lock makes two replacements follow one another: the codes of the later one are valid, all of them.
      const { rowCount } = await tx.query(
        `SELECT 1 FROM identity.account a WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL
           AND EXISTS (SELECT 1 FROM identity.factor f WHERE f.user_id = a.id) FOR NO KEY UPDATE`,
        [userId, verified],
      )
      if (rowCount === 0) return false
      await tx.query('DELETE FROM identity.recovery_code WHERE user_id = $1', [userId])
      await tx.query(
        'INSERT INTO identity.recovery_code (user_id, hash, created_at) SELECT $1, hash, $3 FROM unnest($2::text[]) AS hash',
        [userId, hashes, now],
      )
      await putMessages(tx, messages)
      return true
    })
  }
}
