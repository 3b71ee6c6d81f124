import { randomUUIDv7 } from 'node:crypto'
import type { Database, Transaction } from '@gatehouse/kit'
import { managementRoles } from '../../model/management-roles.ts'
import type {
  LinkedAccount,
  LinkedAccounts,
  LinkedUser,
  LinkRemoval,
  LinkRevocation,
  LinkTarget,
  NewLink,
  NewUser,
  OutboxMessage,
  SignOutOptions,
  UpstreamAccount,
} from '../../store/index.ts'
import { deleteRefreshFamilies } from '../grants/ended-grants.ts'
import { putMessages } from '../operations/outbox.ts'
import { orUndefined, type UserRow, userOf } from '../rows.ts'
import { endSessions } from '../sessions.ts'
import { endAccess } from '../users/end-access.ts'
import { lockUser, requireRoles } from '../users/lock-user.ts'
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

  async use({ connectionId, issuer, subject }: UpstreamAccount, now: number): Promise<LinkedUser | undefined> {
    const { rows } = await this.#database.query<UserRow & { readonly link_id: string }>(
      `UPDATE identity.linked_account l SET used_at = $4
         FROM identity.connection c, identity.account a, identity.subject s
        WHERE l.connection_id = $1 AND l.issuer = $2 AND l.subject = $3
          AND c.id = l.connection_id AND c.enabled AND a.id = l.user_id AND s.id = a.id
       RETURNING a.*, s.plan, l.id AS link_id`,
      [connectionId, issuer, subject, now],
    )
    return rows[0] && { user: userOf(rows[0]), linkId: rows[0].link_id }
  }

  async listByUser(userId: string): Promise<LinkedAccount[]> {
    const { rows } = await this.#database.query<LinkRow>(
      `SELECT id, connection_id, issuer, subject, email, linked_at, used_at FROM identity.linked_account
       WHERE user_id = $1 ORDER BY linked_at, id LIMIT 1000`,
      [userId],
    )
    return rows.map(linkOf)
  }

  add(
    { userId, credentialVersion, verifiedEmail }: LinkTarget,
    link: NewLink,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'linked' | 'other_user' | 'outdated' | 'disabled'> {
    return this.#database.transaction(async (tx) => {
      const target = await tx.query(
        `SELECT 1 FROM identity.account WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL
           AND ($3::text IS NULL OR (lower(email) = $3 AND email_verified AND NOT roles && $4::text[])) FOR UPDATE`,
        [userId, credentialVersion, verifiedEmail ?? null, managementRoles],
      )
      if (target.rowCount === 0) return 'outdated'
      if (!(await lockEnabledConnection(tx, link))) return 'disabled'
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

  async createUser(
    user: NewUser,
    link: NewLink,
    messages: readonly OutboxMessage[],
    now: number,
  ): Promise<'created' | 'linked' | 'disabled'> {
    try {
      return await this.#database.transaction(async (tx) => {
        if (!(await lockEnabledConnection(tx, link))) return 'disabled'
        await writeUser(tx, user, now)
        if (!(await insertLink(tx, user.id, link, now))) throw new LinkedMeanwhile()
        await putMessages(tx, messages)
        return 'created'
      })
    } catch (error) {
      if (error instanceof LinkedMeanwhile) return 'linked'
      throw error
    }
  }

  remove(
    { userId, linkId, keepSession, ...counted }: LinkRemoval,
    end: SignOutOptions,
    messages: readonly OutboxMessage[],
  ): Promise<'removed' | 'missing' | 'last_way'> {
    return this.#database.transaction(async (tx) => {
      if (!(await lockLink(tx, userId, linkId))) return 'missing'
      if ((await countSignInWays(tx, userId, { ...counted, exceptLink: linkId })) === 0) return 'last_way'
      const { rows } = await tx.query<{ session_id: string }>(
        `SELECT session_id FROM identity.provider_session WHERE link_id = $1 AND session_id <> $2`,
        [linkId, keepSession],
      )
      const only = rows.map((row) => row.session_id)
      const { grants } = await endSessions(tx, userId, { only }, end)
      await deleteLink(tx, userId, linkId)
      await putMessages(tx, messages)
      await deleteRefreshFamilies(tx, grants, end)
      return 'removed'
    })
  }

  revoke(
    { userId, linkId, expectedRoles, ...counted }: LinkRevocation,
    end: SignOutOptions,
    messages: readonly OutboxMessage[],
  ): Promise<number | undefined> {
    return this.#database.transaction(async (tx) => {
      if (!(await lockLink(tx, userId, linkId))) return undefined
      await requireRoles(tx, userId, expectedRoles)
      const remaining = await countSignInWays(tx, userId, { ...counted, exceptLink: linkId })
      await deleteLink(tx, userId, linkId)
      await putMessages(tx, messages)
      await endAccess(tx, userId, { endApiKeys: true }, end)
      return remaining
    })
  }
}

/** Locks the user's account; false when the user has no such link. */
async function lockLink(tx: Transaction, userId: string, linkId: string): Promise<boolean> {
  if ((await lockUser(tx, userId, false)) === undefined) return false
  const owned = 'SELECT 1 FROM identity.linked_account WHERE id = $1 AND user_id = $2'
  return (await tx.query(owned, [linkId, userId])).rowCount === 1
}

/** Deletes a link. A sign-in through it that has not finished yet is void. */
async function deleteLink(tx: Transaction, userId: string, linkId: string): Promise<void> {
  await tx.query('DELETE FROM identity.linked_account WHERE id = $1', [linkId])
  await tx.query('UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1', [userId])
}

/** Locks the connection of a link until the transaction ends; false when it is disabled, or deleted. */
async function lockEnabledConnection(tx: Transaction, { connectionId }: NewLink): Promise<boolean> {
  const text = 'SELECT 1 FROM identity.connection WHERE id = $1 AND enabled FOR SHARE'
  return (await tx.query(text, [connectionId])).rowCount === 1
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
