import type { Database } from '@gatehouse/kit'
import type { NewUser, OutboxMessage, Registration, Registrations } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { writeUser } from './users.ts'

/** Registrations in `identity.registration`. */
export class PostgresRegistrations implements Registrations {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put({ hash, userId, email, expiresAt }: Registration, messages: readonly OutboxMessage[]): Promise<void> {
    return this.#database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO identity.registration (hash, user_id, email, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (lower(email)) DO UPDATE SET hash = excluded.hash, user_id = excluded.user_id, email = excluded.email,
           expires_at = excluded.expires_at`,
        [hash, userId, email, expiresAt],
      )
      await putMessages(tx, messages)
    })
  }

  async find(hash: string, now: number): Promise<Registration | undefined> {
    const { rows } = await this.#database.query<{ user_id: string; email: string; expires_at: number }>(
      'SELECT user_id, email, expires_at FROM identity.registration WHERE hash = $1 AND expires_at > $2',
      [hash, now],
    )
    return rows[0] && { hash, userId: rows[0].user_id, email: rows[0].email, expiresAt: rows[0].expires_at }
  }

  complete(hash: string, user: NewUser, messages: readonly OutboxMessage[], now: number): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `DELETE FROM identity.registration
         WHERE hash = $1 AND user_id = $2 AND lower(email) = lower($3) AND expires_at > $4`,
        [hash, user.id, user.email ?? null, now],
      )
      if (rowCount === 0) return false
      await writeUser(tx, user, now)
      await putMessages(tx, messages)
      return true
    })
  }
}
