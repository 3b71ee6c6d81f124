import type { Database, Transaction } from '@gatehouse/kit'
import { revokedBefore } from '../../model/grants/revocation-times.ts'
import type { User } from '../../model/user.ts'
import type {
  Accounts,
  ExpectedRoles,
  PasswordChange,
  PasswordRemoval,
  PasswordReset,
  SignOutEverywhere,
  SignOutOptions,
  UserChange,
} from '../../store/index.ts'
import { removeUselessCodes } from '../factors/factors.ts'
import { removeLinks } from '../federation/linked-accounts.ts'
import { putMessages } from '../operations/outbox.ts'
import { appendRevocations } from '../tokens/revocations.ts'
import { endAccess } from './end-access.ts'
import { lockUser, requireRoles } from './lock-user.ts'
import { consumeLink } from './mailed-links.ts'
import { isLastOwnWay } from './sign-in-ways.ts'

/** Credentials in `identity.account`. */
export class PostgresAccounts implements Accounts {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  setPassword(change: PasswordChange, end: SignOutOptions): Promise<boolean> {
    return this.#database.transaction((tx) => setPassword(tx, change, end))
  }

  removePassword(removal: PasswordRemoval, end: SignOutOptions): Promise<'removed' | 'last_way' | 'outdated'> {
    const { userId, verified, required } = removal
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `SELECT 1 FROM identity.account WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL
           AND password_hash IS NOT NULL FOR NO KEY UPDATE`,
        [userId, verified],
      )
      if (rowCount === 0) return 'outdated'
      if (await isLastOwnWay(tx, userId, required)) return 'last_way'
      return (await setPassword(tx, { ...removal, hash: null, endApiKeys: false }, end)) ? 'removed' : 'outdated'
    })
  }

  async replaceHash(userId: string, from: string, to: string): Promise<void> {
    await this.#database.query('UPDATE identity.account SET password_hash = $3 WHERE id = $1 AND password_hash = $2', [
      userId,
      from,
      to,
    ])
  }

  resetPassword({ linkHash, passwordHash: hash, messages }: PasswordReset, end: SignOutOptions): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const link = await consumeLink(tx, linkHash, 'reset', end.now)
      if (link === undefined) return false
      await removeUnverifiedWays(tx, link.userId)
      await markEmailVerified(tx, link.userId, end.now)
      return setPassword(tx, { userId: link.userId, hash, endApiKeys: true, messages }, end)
    })
  }

  verifyEmail(linkHash: string, now: number): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const link = await consumeLink(tx, linkHash, 'verify', now)
      if (link !== undefined) await markEmailVerified(tx, link.userId, now)
      return link !== undefined
    })
  }

  signOutEverywhere({ userId, keepSession, messages }: SignOutEverywhere, end: SignOutOptions): Promise<void> {
    return this.#database.transaction(async (tx) => {
      // The lock makes a sign-in wait that is under way; its credentials are then void.
      await tx.query('UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1', [userId])
      await putMessages(tx, messages)
      await endAccess(tx, userId, { keepSession, endApiKeys: false }, end)
    })
  }

  setLocked(
    userId: string,
    locked: boolean,
    end: SignOutOptions,
    expected?: Pick<User, 'lockedAt'>,
    expectedRoles?: ExpectedRoles,
  ): Promise<UserChange | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const found = await lockUser(tx, userId, locked)
      if (found === undefined) return 'missing'
      await requireRoles(tx, userId, expectedRoles)
      if (expected !== undefined && !(await isLockedSince(tx, userId, expected.lockedAt))) return 'outdated'
      if (found.lastOwner) return 'last_owner'
      await tx.query(
        `UPDATE identity.account SET locked_at = CASE WHEN $2 THEN coalesce(locked_at, $3) END, updated_at = $3,
           credential_version = CASE WHEN $2 THEN gen_random_uuid() ELSE credential_version END WHERE id = $1`,
        [userId, locked, end.now],
      )
      if (locked) {
        await endAccess(tx, userId, { endApiKeys: false }, end)
        await appendRevocations(tx, [{ subject: userId, before: revokedBefore(end.now) }], end)
      }
      return 'changed'
    })
  }
}

/**
 * Whoever opens a link has the mailbox that it was sent to; using the link checked that the account still has this
 * address.
 */
async function markEmailVerified(tx: Transaction, userId: string, now: number): Promise<void> {
  await tx.query('UPDATE identity.account SET email_verified = true, updated_at = $2 WHERE id = $1', [userId, now])
}

/**
 * Deletes the links and passkeys of an account whose address nobody had verified: whoever made them may not be the owner
 * of the mailbox, who takes the account over now. An authenticator app stays; it opens nothing alone.
 */
async function removeUnverifiedWays(tx: Transaction, userId: string): Promise<void> {
  const { rows } = await tx.query<{ email_verified: boolean }>(
    'SELECT email_verified FROM identity.account WHERE id = $1 FOR UPDATE',
    [userId],
  )
  if (rows[0]?.email_verified !== false) return
  await removeLinks(tx, userId)
  await tx.query('DELETE FROM identity.passkey WHERE user_id = $1', [userId])
  await removeUselessCodes(tx, userId)
}

/** Sets or removes the password, and ends what was started with the previous one. */
export async function setPassword(
  tx: Transaction,
  {
    userId,
    hash,
    verified,
    keepSession,
    endApiKeys,
    expectedRoles,
    messages = [],
  }: Omit<PasswordChange, 'hash'> & { readonly hash: string | null },
  end: SignOutOptions,
): Promise<boolean> {
  await requireRoles(tx, userId, expectedRoles)
  const { rowCount } = await tx.query(
    `UPDATE identity.account SET password_hash = $2, password_changed_at = $3, updated_at = $3, credential_version = gen_random_uuid()
     WHERE id = $1 AND ($4::uuid IS NULL OR (credential_version = $4 AND locked_at IS NULL))`,
    [userId, hash, end.now, verified ?? null],
  )
  if (rowCount === 0) return false
  await putMessages(tx, messages)
  await endAccess(tx, userId, { keepSession, endApiKeys }, end)
  return true
}

async function isLockedSince(tx: Transaction, userId: string, lockedAt: number | undefined): Promise<boolean> {
  const text = 'SELECT 1 FROM identity.account WHERE id = $1 AND locked_at IS NOT DISTINCT FROM $2::bigint'
  return (await tx.query(text, [userId, lockedAt ?? null])).rowCount === 1
}
