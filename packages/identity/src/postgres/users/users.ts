import { type Database, sqlState, type Transaction } from '@gatehouse/kit'
import { commitMarginMs, type RevocationTimes, revokedBefore } from '../../model/grants/revocation-times.ts'
import { listRevokedRoles, ownerRole } from '../../model/management-roles.ts'
import { isUnchanged, type User } from '../../model/user.ts'
import {
  type ExpectedRoles,
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
import { lockUser, requireRoles } from './lock-user.ts'
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
    // An address would come before another account's username, which no write stores: its owner has proven it, or can.
    const text = `${select} WHERE username = $1 OR lower(email) = $1 ORDER BY username = $1 LIMIT 1`
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
      const current = rows[0] && userOf(rows[0])
      if (current === undefined || !isUnchanged(expected, current)) return 'outdated'
      if (found.lastOwner) return 'last_owner'
      // A verification meanwhile, which is no conflict, must not be undone by what was read before it.
      const keepsVerification = user.email === expected.email && user.emailVerified === expected.emailVerified
      const { emailVerified } = keepsVerification ? current : user
      await writeUser(tx, { ...user, emailVerified }, times().now)
      await putMessages(tx, outbox)
      await revokeTokensOfRoles(tx, user, expected.roles, times)
      return 'changed'
    })
  }

  remove(
    id: string,
    end: SignOutOptions,
    messages: readonly OutboxMessage[] = [],
    expectedRoles?: ExpectedRoles,
  ): Promise<UserChange> {
    return this.#database.transaction(async (tx) => {
      const found = await lockUser(tx, id, true)
      if (found === undefined) return 'missing'
      await requireRoles(tx, id, expectedRoles)
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
  await requireFreeNames(tx, user)
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
    if (sqlState(error) !== uniqueViolation) throw error
    const isAddress = String((error as { constraint?: string }).constraint).includes('email')
    throw nameConflict(isAddress ? 'email' : 'username', user)
  }
}

type Named = Pick<NewUser, 'id' | 'username' | 'email'>

/**
 * Refuses a new username that is the address of another account, and a new address that is another's username: people
 * sign in with either. What the account has already is not looked at. Of two transactions that write one name the later
 * one waits, and then finds it in use. The row of an existing account is locked before. @throws NameConflict
 */
export async function requireFreeNames(tx: Transaction, user: Named): Promise<void> {
  const text = `SELECT lower(other.email) = $2 AND own.username IS DISTINCT FROM $2 AS is_address
       FROM identity.account other LEFT JOIN identity.account own ON own.id = $1
      WHERE other.id <> $1 AND ((lower(other.email) = $2 AND own.username IS DISTINCT FROM $2)
         OR (other.username = lower($3) AND lower(own.email) IS DISTINCT FROM lower($3))) LIMIT 1`
  // Two statements: the second sees what was committed while the first waited.
  const [, { rows }] = await Promise.all([
    lockNames(tx, user),
    tx.query<{ is_address: boolean }>(text, [user.id, user.username, user.email ?? null]),
  ])
  if (rows[0] !== undefined) throw nameConflict(rows[0].is_address ? 'username' : 'email', user)
}

/**
 * Locks the names that the account gets, and those that it has, until the transaction ends. All of them in one order and
 * before any index is written, so that no two transactions wait for each other.
 */
export async function lockNames(tx: Transaction, { id, username, email }: Named): Promise<void> {
  const text = `SELECT pg_advisory_xact_lock(lock) FROM (
      SELECT DISTINCT hashtextextended('identity name ' || name, 0) AS lock
        FROM (SELECT unnest(ARRAY[$2::text, lower($3::text)]) AS name UNION ALL
              SELECT unnest(ARRAY[username, lower(email)]) FROM identity.account WHERE id = $1) AS names
       WHERE name IS NOT NULL ORDER BY lock) AS locks`
  await tx.query(text, [id, username, email ?? null])
}

/** Deletes the registrations for an address that has, or had, an account. */
export async function removeRegistrations(tx: Transaction, email: string | undefined): Promise<void> {
  if (email !== undefined) await tx.query('DELETE FROM identity.registration WHERE lower(email) = lower($1)', [email])
}

function nameConflict(member: 'username' | 'email', user: Named): NameConflict {
  return new NameConflict(member, `the ${member} ${user[member]} belongs to another user`)
}
