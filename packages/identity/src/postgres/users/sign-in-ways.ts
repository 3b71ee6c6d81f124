import type { Transaction } from '@gatehouse/kit'

/** Which ways to sign in count. */
export interface CountedWays {
  /** Whether passkeys are switched on. Default: true. */
  readonly passkeys?: boolean
  /** A link that is left out. */
  readonly exceptLink?: string
  /** The connection that is the only way to sign in: of the others none counts. */
  readonly required?: string | undefined
}

/**
 * Counts the ways in which a user can sign in: the password, each passkey, and each account at another provider whose
 * connection may sign in. A way that is switched off is none. The account's row must be locked, so that of two that are removed
 * at once the second is the last. What is mailed is no way of its own.
 */
export async function countSignInWays(
  tx: Transaction,
  userId: string,
  { passkeys = true, exceptLink, required }: CountedWays = {},
): Promise<number> {
  const { rows } = await tx.query<{ ways: number }>(
    `SELECT (SELECT count(*) FROM identity.account WHERE id = $1 AND password_hash IS NOT NULL AND $4::text IS NULL)
          + (SELECT count(*) FROM identity.passkey WHERE user_id = $1 AND $3 AND $4::text IS NULL)
          + (SELECT count(*) FROM identity.linked_account l
               JOIN identity.connection c ON c.id = l.connection_id AND c.enabled
              WHERE l.user_id = $1 AND l.id IS DISTINCT FROM $2::uuid
                AND ($4::text IS NULL OR l.connection_id = $4)
                AND coalesce((c.settings ->> 'link_only')::boolean, false) = false) AS ways`,
    [userId, exceptLink ?? null, passkeys, required ?? null],
  )
  return Number(rows[0]?.ways ?? 0)
}

/**
 * Whether a user who loses the password or a passkey has no way to sign in left. Where a connection is required neither
 * is one, so that its links alone have to remain.
 */
export async function isLastOwnWay(tx: Transaction, userId: string, required: string | undefined): Promise<boolean> {
  const needed = required === undefined ? 2 : 1
  return (await countSignInWays(tx, userId, { required })) < needed
}
