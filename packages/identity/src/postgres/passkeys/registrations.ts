import type { Database, Transaction } from '@gatehouse/kit'
import type { Passkey } from '../../model/factors/passkey.ts'
import type { AddPasskeyResult, NewPasskey, OutboxMessage, PasskeyRegistrations } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { lockForEnrolment, raiseSession } from '../raised-session.ts'

/** Registrations of passkeys: handles in `identity.account`, passkeys in `identity.passkey`. */
export class PostgresPasskeyRegistrations implements PasskeyRegistrations {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async userHandle(userId: string, proposed: string): Promise<string | undefined> {
    const read = 'SELECT passkey_user_handle AS handle FROM identity.account WHERE id = $1'
    const [known] = (await this.#database.query<{ handle: string | null }>(read, [userId])).rows
    if (known === undefined || known.handle !== null) return known?.handle ?? undefined
    const { rows } = await this.#database.query<{ handle: string }>(
      `UPDATE identity.account SET passkey_user_handle = coalesce(passkey_user_handle, $2) WHERE id = $1
       RETURNING passkey_user_handle AS handle`,
      [userId, proposed],
    )
    return rows[0]?.handle
  }

  add(
    { passkey, credentialVersion, session }: NewPasskey,
    max: number,
    messages: readonly OutboxMessage[],
  ): Promise<AddPasskeyResult> {
    return this.#database.transaction(async (tx) => {
      // Registrations of one user wait for each other here, so that none passes the limit beside another.
      const change = { userId: passkey.userId, verified: credentialVersion }
      if (!(await lockForEnrolment(tx, change, session))) return 'outdated'
      const { rowCount: count } = await tx.query('SELECT 1 FROM identity.passkey WHERE user_id = $1', [passkey.userId])
      if (count >= max) return 'full'
      if (!(await insertPasskey(tx, passkey))) return 'duplicate'
      await tx.query('DELETE FROM identity.factor_reset WHERE user_id = $1', [passkey.userId])
      await raiseSession(tx, session)
      await putMessages(tx, messages)
      return 'added'
    })
  }
}

/** Inserts a passkey; false when its credential is registered already, for whomever. */
export async function insertPasskey(tx: Transaction, passkey: Passkey): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO identity.passkey (id, credential_id, user_id, public_key, sign_count, backup_eligible, backed_up,
       transports, aaguid, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (credential_id) DO NOTHING`,
    [
      passkey.id,
      passkey.credentialId,
      passkey.userId,
      passkey.publicKey,
      passkey.signCount,
      passkey.backupEligible,
      passkey.backedUp,
      passkey.transports,
      passkey.aaguid,
      passkey.name,
      passkey.createdAt,
    ],
  )
  return rowCount === 1
}
