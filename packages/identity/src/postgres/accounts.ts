import type { Database, Transaction } from '@gatehouse/kit'
import type { Accounts, MailedLink, OutboxMessage, UserChange, UserEnd } from '../store.ts'
import { endGrantsOfUser } from './grants.ts'
import { putMessages } from './outbox.ts'
import { lockUser } from './owners.ts'
import { appendRevocations } from './revocations.ts'
import { endSessions } from './sessions.ts'

export class PostgresAccounts implements Accounts {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  setPassword(userId: string, hash: string, keepSession: string | undefined, end: UserEnd): Promise<boolean> {
    return this.#database.transaction((tx) => setPassword(tx, userId, hash, keepSession, end))
  }

  setLocked(userId: string, locked: boolean, end: UserEnd): Promise<UserChange> {
    return this.#database.transaction(async (tx) => {
      const found = await lockUser(tx, userId, locked)
      if (found === undefined) return 'missing'
      if (found.lastOwner) return 'last_owner'
      await tx.query(
        'UPDATE identity.account SET locked_at = CASE WHEN $2 THEN coalesce(locked_at, $3) END, updated_at = $3 WHERE id = $1',
        [userId, locked, end.now],
      )
      if (locked) {
        await endSessions(tx, userId, {}, end.tell)
        await endGrantsOfUser(tx, userId, end)
        await appendRevocations(tx, [{ subject: userId, before: nextSecond(end.now) }], end)
      }
      return 'changed'
    })
  }

  putLink(link: MailedLink, message: OutboxMessage): Promise<void> {
    return this.#database.transaction(async (tx) => {
      await tx.query('DELETE FROM identity.mailed_link WHERE user_id = $1 AND purpose = $2', [
        link.userId,
        link.purpose,
      ])
      await tx.query(
        'INSERT INTO identity.mailed_link (hash, purpose, user_id, email, expires_at) VALUES ($1, $2, $3, $4, $5)',
        [link.hash, link.purpose, link.userId, link.email, link.expiresAt],
      )
      await putMessages(tx, [message])
    })
  }

  async findLink(hash: string, purpose: MailedLink['purpose'], now: number): Promise<MailedLink | undefined> {
    const { rows } = await this.#database.query<{ user_id: string; email: string; expires_at: number }>(
      'SELECT user_id, email, expires_at FROM identity.mailed_link WHERE hash = $1 AND purpose = $2 AND expires_at > $3',
      [hash, purpose, now],
    )
    return rows[0] && { hash, purpose, userId: rows[0].user_id, email: rows[0].email, expiresAt: rows[0].expires_at }
  }

  useLink(
    hash: string,
    purpose: MailedLink['purpose'],
    passwordHash: string | undefined,
    end: UserEnd,
  ): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rows } = await tx.query<{ user_id: string; email: string }>(
        'DELETE FROM identity.mailed_link WHERE hash = $1 AND purpose = $2 AND expires_at > $3 RETURNING user_id, email',
        [hash, purpose, end.now],
      )
      const link = rows[0]
      if (link === undefined) return false
      await tx.query(
        'UPDATE identity.account SET email_verified = true, updated_at = $3 WHERE id = $1 AND lower(email) = lower($2)',
        [link.user_id, link.email, end.now],
      )
      if (passwordHash !== undefined) await setPassword(tx, link.user_id, passwordHash, undefined, end)
      return true
    })
  }
}

/** Sets the password, and ends what was begun with the one before. */
export async function setPassword(
  tx: Transaction,
  userId: string,
  hash: string,
  keepSession: string | undefined,
  end: UserEnd,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'UPDATE identity.account SET password_hash = $2, password_changed_at = $3, updated_at = $3 WHERE id = $1',
    [userId, hash, end.now],
  )
  if (rowCount === 0) return false
  await endSessions(tx, userId, { keep: keepSession }, end.tell)
  await tx.query("DELETE FROM identity.mailed_link WHERE user_id = $1 AND purpose = 'reset'", [userId])
  await endGrantsOfUser(tx, userId, end)
  return true
}

/** The first second of which every token is issued later: what is issued in the second of the event is refused too. */
export function nextSecond(unixMs: number): number {
  return Math.floor(unixMs / 1000) + 1
}
