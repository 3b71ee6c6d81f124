import type { Transaction } from '@gatehouse/kit'
import { ownerRole } from '../../model/management-roles.ts'

export interface LockedUser {
  readonly roles: readonly string[]
  /** Nobody else is an owner who can sign in. */
  readonly lastOwner: boolean
}

/**
 * Locks the user's row until the transaction ends; with `asOwner` every owner's as well, in the order of their ids, so
 * that of two owners who remove one another one waits, and then finds itself the last. Undefined without such a user.
 */
export async function lockUser(tx: Transaction, id: string, withOwners: boolean): Promise<LockedUser | undefined> {
  const { rows } = await tx.query<{ id: string; roles: string[]; locked: boolean }>(
    `SELECT id, roles, locked_at IS NOT NULL AS locked FROM identity.account
     WHERE id = $1 OR ($2 AND roles @> ARRAY[$3::text]) ORDER BY id FOR UPDATE`,
    [id, withOwners, ownerRole],
  )
  const user = rows.find((row) => row.id === id)
  if (user === undefined) return undefined
  const owners = rows.filter((row) => !row.locked && row.roles.includes(ownerRole))
  return { roles: user.roles, lastOwner: withOwners && owners.length === 1 && owners[0] === user }
}
