import type { Database, Transaction } from '@gatehouse/kit'
import type { FactorKind } from '../../model/factors/second-factor.ts'
import type {
  EnrolledFactors,
  ExpectedRoles,
  FactorChange,
  Factors,
  OutboxMessage,
  SignOutOptions,
} from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { orUndefined } from '../rows.ts'
import { endAccess } from '../users/end-access.ts'
import { requireRoles } from '../users/lock-user.ts'

interface OverviewRow {
  readonly kind: FactorKind | null
  readonly created_at: number
  readonly used_at: number | null
  readonly codes: number
  readonly must_enrol: boolean
}

/** Factors of every kind, in the view `identity.factor`. */
export class PostgresFactors implements Factors {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(userId: string): Promise<EnrolledFactors> {
    const { rows } = await this.#database.query<OverviewRow>(
      `SELECT f.kind, f.created_at, f.used_at,
         (SELECT count(*)::int FROM identity.recovery_code c WHERE c.user_id = o.id) AS codes,
         EXISTS (SELECT 1 FROM identity.factor_reset r WHERE r.user_id = o.id) AS must_enrol
       FROM (SELECT $1::text AS id) o LEFT JOIN identity.factor f ON f.user_id = o.id ORDER BY f.created_at`,
      [userId],
    )
    const factors = rows.flatMap(({ kind, created_at, used_at }) =>
      kind === null ? [] : [{ kind, createdAt: created_at, usedAt: orUndefined(used_at) }],
    )
    return { factors, recoveryCodes: rows[0]?.codes ?? 0, mustEnrol: rows[0]?.must_enrol ?? false }
  }

  reset(
    userId: string,
    end: SignOutOptions,
    messages: readonly OutboxMessage[],
    expectedRoles?: ExpectedRoles,
  ): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      await requireRoles(tx, userId, expectedRoles)
      const { rowCount } = await tx.query(
        'UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1',
        [userId],
      )
      if (rowCount === 0) return false
      for (const table of ['authenticator_app', 'passkey', 'recovery_code', 'remembered_device'])
        await tx.query(`DELETE FROM identity.${table} WHERE user_id = $1`, [userId])
      await tx.query(
        'INSERT INTO identity.factor_reset (user_id, at) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET at = excluded.at',
        [userId, end.now],
      )
      await putMessages(tx, messages)
      await endAccess(tx, userId, { endApiKeys: true }, end)
      return true
    })
  }
}

/**
 * Locks the account and changes the version of its credentials, so that sign-ins in progress and remembered devices of
 * the version before are void. Returns the new version; undefined when `verified` is not the current one.
 */
export async function renewCredentials(
  tx: Transaction,
  { userId, verified }: Pick<FactorChange, 'userId' | 'verified'>,
): Promise<string | undefined> {
  const { rows } = await tx.query<{ credential_version: string }>(
    `UPDATE identity.account SET credential_version = gen_random_uuid()
     WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL RETURNING credential_version`,
    [userId, verified],
  )
  return rows[0]?.credential_version
}

/** Deletes the recovery codes of a user without a factor: there is nothing left that they could stand in for. */
export async function removeUselessCodes(tx: Transaction, userId: string): Promise<void> {
  await tx.query(
    `DELETE FROM identity.recovery_code WHERE user_id = $1
       AND NOT EXISTS (SELECT 1 FROM identity.factor f WHERE f.user_id = $1)`,
    [userId],
  )
}

/** Stores the recovery codes of a user who has none, and ends the order to enrol. Returns whether they were stored. */
export async function completeEnrolment(
  tx: Transaction,
  userId: string,
  codeHashes: readonly string[],
  now: number,
): Promise<boolean> {
  await tx.query('DELETE FROM identity.factor_reset WHERE user_id = $1', [userId])
  const { rowCount } = await tx.query(
    `INSERT INTO identity.recovery_code (user_id, hash, created_at) SELECT $1, hash, $3 FROM unnest($2::text[]) AS hash
     WHERE NOT EXISTS (SELECT 1 FROM identity.recovery_code c WHERE c.user_id = $1)`,
    [userId, codeHashes, now],
  )
  return rowCount > 0
}
