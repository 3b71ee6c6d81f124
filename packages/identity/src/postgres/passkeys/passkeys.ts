import type { Database } from '@gatehouse/kit'
import type { Passkey } from '../../model/factors/passkey.ts'
import type {
  DecideUse,
  OutboxMessage,
  PasskeyOwner,
  PasskeyRemoval,
  Passkeys,
  PasskeyUse,
  RemovePasskeyResult,
} from '../../store/index.ts'
import { removeUselessCodes } from '../factors/factors.ts'
import { putMessages } from '../operations/outbox.ts'
import { type UserRow, userOf } from '../rows.ts'
import { requireRoles } from '../users/lock-user.ts'
import { isLastOwnWay } from '../users/sign-in-ways.ts'
import { type PasskeyRow, passkeyColumns, passkeyOf } from './rows.ts'

/** Passkeys in `identity.passkey`. */
export class PostgresPasskeys implements Passkeys {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(credentialId: string): Promise<PasskeyOwner | undefined> {
    const { rows } = await this.#database.query<PasskeyRow & UserRow & { passkey_user_handle: string }>(
      `SELECT ${passkeyColumns}, a.id, s.plan, a.username, a.email, a.email_verified, a.password_hash, a.password_changed_at,
         a.credential_version, a.roles, a.claims, a.locked_at, a.created_at, a.updated_at, a.passkey_user_handle
       FROM identity.passkey p JOIN identity.account a ON a.id = p.user_id JOIN identity.subject s ON s.id = a.id
       WHERE p.credential_id = $1 AND a.locked_at IS NULL`,
      [credentialId],
    )
    const row = rows[0]
    return row && { passkey: passkeyOf(row), user: userOf(row), userHandle: row.passkey_user_handle }
  }

  async listByUser(userId: string): Promise<Passkey[]> {
    const text = `SELECT ${passkeyColumns} FROM identity.passkey p WHERE user_id = $1 ORDER BY created_at, id`
    return (await this.#database.query<PasskeyRow>(text, [userId])).rows.map(passkeyOf)
  }

  async exists(userId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM identity.passkey WHERE user_id = $1 LIMIT 1'
    return (await this.#database.query(text, [userId])).rowCount > 0
  }

  recordUse(id: string, use: PasskeyUse, decide: DecideUse): Promise<'accepted' | 'regression' | 'missing'> {
    const { counter, backedUp, at, userAgent, warnings } = use
    return this.#database.transaction(async (tx) => {
      const text = `SELECT ${passkeyColumns} FROM identity.passkey p WHERE id = $1 FOR UPDATE`
      const [row] = (await tx.query<PasskeyRow>(text, [id])).rows
      if (row === undefined) return 'missing'
      if (decide(passkeyOf(row)) === 'regression') {
        await tx.query('UPDATE identity.passkey SET counter_regressed_at = $2 WHERE id = $1', [id, at])
        await putMessages(tx, warnings)
        return 'regression'
      }
      await tx.query(
        `UPDATE identity.passkey SET sign_count = greatest(sign_count, $2::bigint), backed_up = $3, last_used_at = $4,
           last_user_agent = $5 WHERE id = $1`,
        [id, counter, backedUp, at, userAgent],
      )
      return 'accepted'
    })
  }

  async rename(userId: string, id: string, name: string): Promise<boolean> {
    const text = 'UPDATE identity.passkey SET name = $3 WHERE user_id = $1 AND id = $2'
    return (await this.#database.query(text, [userId, id, name])).rowCount === 1
  }

  remove(
    { userId, id, evenLast, required, expectedRoles }: PasskeyRemoval,
    messages: readonly OutboxMessage[],
  ): Promise<RemovePasskeyResult> {
    return this.#database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM identity.account WHERE id = $1 FOR NO KEY UPDATE', [userId])
      await requireRoles(tx, userId, expectedRoles)
      const owned = 'SELECT 1 FROM identity.passkey WHERE user_id = $1 AND id = $2'
      if ((await tx.query(owned, [userId, id])).rowCount === 0) return 'missing'
      if (!evenLast && (await isLastOwnWay(tx, userId, required))) return 'last_way'
      await tx.query('DELETE FROM identity.passkey WHERE user_id = $1 AND id = $2', [userId, id])
      await tx.query('UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1', [userId])
      await removeUselessCodes(tx, userId)
      await putMessages(tx, messages)
      return 'removed'
    })
  }
}
