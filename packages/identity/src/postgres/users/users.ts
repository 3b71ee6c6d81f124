import { type Database, sqlState, type Transaction } from '@gatehouse/kit'
import { commitMarginMs, type RevocationTimes, revokedBefore } from '../../model/grants/revocation-times.ts'
import { listRevokedRoles, ownerRole } from '../../model/management-roles.ts'
import { isUnchanged, type User } from '../../model/user.ts'
import {
  type ExpectedUser,
  NameConflict,
  type NewUser,
  type OutboxMessage,
  type SignOutOptions,
  type UserChange,
  type Users,
  type WriteResult,
} from '../../store/index.ts'
import { revokeGrantsOfUser } from '../grants/grants.ts'
import { putMessages } from '../operations/outbox.ts'
import { queries, runStatement } from '../queries.ts'
import { type UserRow, userColumns, userOf } from '../rows.ts'
import { endSessions } from '../sessions.ts'
import { appendRevocations, lockRevocations } from '../tokens/revocations.ts'
import { lockUser } from './lock-user.ts'
import { removeStaleLinks } from './mailed-links.ts'
import { reserveSubject } from './subjects.ts'

const select = `SELECT ${userColumns} FROM identity.account JOIN identity.subject USING (id)`

/** Users in `identity.account`. */
export class PostgresUsers implements Users {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: string): Promise<User | undefined> {
    const text = `${select} WHERE account.id = $1`
    const { rows } = await this.#database.query<UserRow>({ name: 'identity user', text, values: [id] })
    return rows[0] && userOf(rows[0])
  }

  async findByLogin(login: string): Promise<User | undefined> {
    const text = `${select} WHERE username = $1 OR lower(email) = $1 ORDER BY (username = $1) DESC LIMIT 1`
    const { rows } = await this.#database.query<UserRow>({ name: 'identity login', text, values: [login] })
    return rows[0] && userOf(rows[0])
  }

  async list(after: string, limit: number): Promise<User[]> {
    const text = `${select} WHERE account.id > $1 ORDER BY account.id LIMIT $2`
    return (await this.#database.query<UserRow>(text, [after, limit])).rows.map(userOf)
  }

  create(user: NewUser, outbox: readonly OutboxMessage[], now: number): Promise<void> {
    return this.#database.transaction(async (tx) => {
      const written = await writeUser(tx, user, now)
      if (written === 'updated') throw new NameConflict('id', `the id ${user.id} belongs to another user`)
      await putMessages(tx, outbox)
    })
  }

  async listByRole(role: string, after: string, limit: number): Promise<User[]> {
    const text = `${select} WHERE roles @> ARRAY[$1::text] AND account.id > $2 ORDER BY account.id LIMIT $3`
    return (await this.#database.query<UserRow>(text, [role, after, limit])).rows.map(userOf)
  }

  update(
    user: NewUser,
    expected: ExpectedUser,
    outbox: readonly OutboxMessage[],
    times: () => RevocationTimes,
  ): Promise<UserChange | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const found = await lockUser(tx, user.id, listRevokedRoles(expected.roles, user.roles).includes(ownerRole))
      if (found === undefined) return 'missing'
      const { rows } = await tx.query<UserRow>(`${select} WHERE account.id = $1`, [user.id])
      if (!rows.some((row) => isUnchanged(expected, userOf(row)))) return 'outdated'
      if (found.lastOwner) return 'last_owner'
      await writeUser(tx, user, times().now)
      await putMessages(tx, outbox)
      await revokeTokensOfRoles(tx, user, expected.roles, times)
      return 'changed'
    })
  }

  remove(id: string, end: SignOutOptions, messages: readonly OutboxMessage[] = []): Promise<UserChange> {
    return this.#database.transaction(async (tx) => {
      const found = await lockUser(tx, id, true)
      if (found === undefined) return 'missing'
      if (found.lastOwner) return 'last_owner'
      const text = 'SELECT email, email_verified FROM identity.account WHERE id = $1'
      const [account] = (await tx.query<{ email: string | null; email_verified: boolean }>(text, [id])).rows
      const { grants } = await endSessions(tx, id, {}, end)
      await revokeGrantsOfUser(tx, id, end, grants)
      await removeRegistrations(tx, account?.email ?? undefined)
      // Of an address that is not proven it is unknown whose invitations these are.
      if (account?.email_verified)
        await tx.query('DELETE FROM identity.invitation WHERE lower(email) = lower($1)', [account.email])
      await tx.query("DELETE FROM identity.subject WHERE id = $1 AND kind = 'user'", [id])
      await tx.query('DELETE FROM identity.access_token WHERE subject = $1', [id])
      await tx.query('DELETE FROM identity.api_key WHERE owner = $1', [id])
      await putMessages(tx, messages)
      await appendRevocations(tx, [{ subject: id, before: revokedBefore(end.now) }], end)
      return 'changed'
    })
  }
}

/**
 * Revokes the access tokens that are issued under management roles which the user has lost until the transaction is
 * committed, whose last step this is. The lock of the revocation feed is waited for before the time is read.
 */
export async function revokeTokensOfRoles(
  tx: Transaction,
  { id, roles }: Pick<NewUser, 'id' | 'roles'>,
  before: readonly string[],
  times: () => RevocationTimes,
): Promise<void> {
  if (listRevokedRoles(before, roles).length === 0) return
  await lockRevocations(tx)
  const end = times()
  await appendRevocations(tx, [{ subject: id, before: revokedBefore(end.now + commitMarginMs) }], end)
}

/** The SQLSTATE of a violated unique index. */
export const uniqueViolation = '23505'

/** Creates or updates a user; without a password hash the password stays. @throws NameConflict */
export async function writeUser(tx: Transaction, user: NewUser, now: number): Promise<WriteResult> {
  await reserveSubject(tx, user.id, 'user', user.plan)
  try {
    const { rows } = await runStatement(tx, queries.writeAccount, [
      user.id,
      user.username,
      user.email ?? null,
      user.emailVerified,
      user.passwordHash ?? null,
      now,
      user.roles,
      JSON.stringify(user.claims),
      user.firstPasswordHash ?? null,
    ])
    await removeStaleLinks(tx, user.id, user.email)
    await removeRegistrations(tx, user.email)
    return rows[0]?.created ? 'created' : 'updated'
  } catch (error) {
    throw sqlState(error) === uniqueViolation ? nameConflict(error as Error, user) : error
  }
}

/** Deletes the registrations for an address that has, or had, an account. */
export async function removeRegistrations(tx: Transaction, email: string | undefined): Promise<void> {
  if (email !== undefined) await tx.query('DELETE FROM identity.registration WHERE lower(email) = lower($1)', [email])
}

function nameConflict(error: Error, user: { username: string; email: string | undefined }): NameConflict {
  const member = String((error as { constraint?: string }).constraint).includes('email') ? 'email' : 'username'
  return new NameConflict(member, `the ${member} ${user[member]} belongs to another user`)
}
