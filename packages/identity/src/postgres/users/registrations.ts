import type { Database, Transaction } from '@gatehouse/kit'
import type { CompletedRegistration, OutboxMessage, Registration, Registrations } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { insertPasskey } from '../passkeys/registrations.ts'
import { lockNames, writeUser } from './users.ts'

interface RegistrationRow {
  readonly user_id: string
  readonly passkey_user_handle: string
  readonly email: string
  readonly expires_at: number
}

/** The credential belongs to another account. */
class PasskeyInUse extends Error {
  override readonly name = 'PasskeyInUse'
}

/** Registrations in `identity.registration`. */
export class PostgresRegistrations implements Registrations {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(registration: Registration, messages: readonly OutboxMessage[]): Promise<void> {
    const { hash, userId, userHandle, email, expiresAt } = registration
    return this.#database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO identity.registration (hash, user_id, passkey_user_handle, email, expires_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (lower(email)) DO UPDATE SET hash = excluded.hash, user_id = excluded.user_id,
           passkey_user_handle = excluded.passkey_user_handle, email = excluded.email, expires_at = excluded.expires_at`,
        [hash, userId, userHandle, email, expiresAt],
      )
      await putMessages(tx, messages)
    })
  }

  async find(hash: string, now: number): Promise<Registration | undefined> {
    const { rows } = await this.#database.query<RegistrationRow>(
      `SELECT user_id, passkey_user_handle, email, expires_at FROM identity.registration
       WHERE hash = $1 AND expires_at > $2`,
      [hash, now],
    )
    const row = rows[0]
    if (row === undefined) return undefined
    const { user_id: userId, passkey_user_handle: userHandle, email, expires_at: expiresAt } = row
    return { hash, userId, userHandle, email, expiresAt }
  }

  async complete(completed: CompletedRegistration, now: number): Promise<'created' | 'expired' | 'passkey_in_use'> {
    try {
      return await this.#database.transaction((tx) => complete(tx, completed, now))
    } catch (error) {
      if (error instanceof PasskeyInUse) return 'passkey_in_use'
      throw error
    }
  }
}

async function complete(
  tx: Transaction,
  { registration: { hash, userHandle }, user, passkey, messages }: CompletedRegistration,
  now: number,
): Promise<'created' | 'expired'> {
  // Before the registration, which whoever writes an account with the address deletes under this lock.
  await lockNames(tx, user)
  const { rowCount } = await tx.query(
    `DELETE FROM identity.registration
     WHERE hash = $1 AND user_id = $2 AND lower(email) = lower($3) AND expires_at > $4`,
    [hash, user.id, user.email ?? null, now],
  )
  if (rowCount === 0) return 'expired'
  await writeUser(tx, user, now)
  if (passkey !== undefined) {
    const values = [user.id, userHandle]
    await tx.query('UPDATE identity.account SET passkey_user_handle = $2 WHERE id = $1', values)
    if (!(await insertPasskey(tx, passkey))) throw new PasskeyInUse()
  }
  await putMessages(tx, messages)
  return 'created'
}
