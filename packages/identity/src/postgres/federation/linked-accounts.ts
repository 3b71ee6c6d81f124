import { randomUUIDv7 } from 'node:crypto'
import type { Database, Transaction } from '@gatehouse/kit'
import type { User } from '../../model/user.ts'
import type {
  LinkedAccount,
  LinkedAccounts,
  LinkRemoval,
  LinkTarget,
  NewLink,
  NewUser,
  OutboxMessage,
  UpstreamAccount,
} from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { orUndefined, type UserRow, userOf } from '../rows.ts'
import { lockUser } from '../users/lock-user.ts'
import { countSignInWays } from '../users/sign-in-ways.ts'
import { writeUser } from '../users/users.ts'

interface LinkRow {
  readonly id: string
  readonly connection_id: string
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly linked_at: number
  readonly used_at: number
}

/** Another transaction linked the upstream account first. */
class LinkedMeanwhile extends Error {
  override readonly name = 'LinkedMeanwhile'
}

/** Links in `identity.linked_account`. */
export class PostgresLinkedAccounts implements LinkedAccounts {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async use({ connectionId, issuer, subject }: UpstreamAccount, now: number): Promise<User | undefined> {
    const { rows } = await this.#database.query<UserRow>(
      `UPDATE identity.linked_account l SET used_at = $4
         FROM identity.connection c, identity.account a, identity.subject s
        WHERE l.connection_id = $1 AND l.issuer = $2 AND l.subject = $3
          AND c.id = l.connection_id AND c.enabled AND a.id = l.user_id AND s.id = a.id
       RETURNING a.*, s.plan`,
      [connectionId, issuer, subject, now],
    )
    return rows[0] && userOf(rows[0])
  }

  async listByUser(userId: string): Promise<LinkedAccount[]> {
    const { rows } = await this.#database.query<LinkRow>(
      `SELECT id, connection_id, issuer, subject, email, linked_at, used_at FROM identity.linked_account
       WHERE user_id = $1 ORDER BY linked_at, id LIMIT 100`,
      [userId],
    )
    return rows.map(linkOf)
  }

  add(
    { userId, credentialVersion, verifiedEmail }: LinkTarget,
    link: NewLink,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'linked' | 'other_user' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const target = await tx.query(
        `SELECT 1 FROM identity.account WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL
           AND ($3::text IS NULL OR (lower(email) = $3 AND email_verified)) FOR UPDATE`,
        [userId, credentialVersion, verifiedEmail ?? null],
      )
      if (target.rowCount === 0) return 'outdated'
      if (await insertLink(tx, userId, link, now)) {
        await putMessages(tx, messages)
        return 'linked'
      }
      const { rows } = await tx.query<{ user_id: string }>(
        'SELECT user_id FROM identity.linked_account WHERE connection_id = $1 AND issuer = $2 AND subject = $3',
        [link.connectionId, link.issuer, link.subject],
      )
      return rows[0]?.user_id === userId ? 'linked' : 'other_user'
    })
  }

  async createUser(user: NewUser, link: NewLink, messages: readonly OutboxMessage[], now: number): Promise<boolean> {
    try {
      await this.#database.transaction(async (tx) => {
        await writeUser(tx, user, now)
        if (!(await insertLink(tx, user.id, link, now))) throw new LinkedMeanwhile()
        await putMessages(tx, messages)
      })
      return true
    } catch (error) {
      if (error instanceof LinkedMeanwhile) return false
      throw error
    }
  }

  remove(
    { userId, id, passkeys }: LinkRemoval,
    messages: readonly OutboxMessage[],
  ): Promise<'removed' | 'missing' | 'last_way'> {
    return this.#database.transaction(async (tx) => {
      if ((await lockUser(tx, userId, false)) === undefined) return 'missing'
      const owned = 'SELECT 1 FROM identity.linked_account WHERE id = $1 AND user_id = $2'
      if ((await tx.query(owned, [id, userId])).rowCount === 0) return 'missing'
      if ((await countSignInWays(tx, userId, { passkeys, exceptLink: id })) === 0) return 'last_way'
      await tx.query('DELETE FROM identity.linked_account WHERE id = $1', [id])
      // A sign-in through the link that has not finished yet is void.
      await tx.query('UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1', [userId])
      await putMessages(tx, messages)
      return 'removed'
    })
  }
}

/** False when the upstream account is linked already. */
async function insertLink(
  tx: Transaction,
  userId: string,
  { connectionId, issuer, subject, email }: NewLink,
  now: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO identity.linked_account (id, connection_id, issuer, subject, user_id, email, linked_at, used_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (connection_id, issuer, subject) DO NOTHING`,
    [randomUUIDv7(), connectionId, issuer, subject, userId, email ?? null, now],
  )
  return rowCount === 1
}

/** Deletes every link of a user: of an account whose address was not verified, anybody may have made them. */
export async function removeLinks(tx: Transaction, userId: string): Promise<void> {
  await tx.query('DELETE FROM identity.linked_account WHERE user_id = $1', [userId])
}

function linkOf(row: LinkRow): LinkedAccount {
  return {
    id: row.id,
    connectionId: row.connection_id,
    issuer: row.issuer,
    subject: row.subject,
    email: orUndefined(row.email),
    linkedAt: row.linked_at,
    usedAt: row.used_at,
  }
}
