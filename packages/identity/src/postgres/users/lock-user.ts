import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '@gatehouse/kit'
import { isLastOwner, ownerRole } from '../../model/management-roles.ts'
import { type ExpectedRoles, RolesChanged } from '../../store/index.ts'

/** A user whose row is locked. */
export interface LockedUser {
  readonly roles: readonly string[]
  /** Whether the user is the only owner who can sign in; false unless the owners were locked too. */
  readonly lastOwner: boolean
}

/**
 * Locks the user's row until the transaction ends; with `withOwners` every owner's as well, in the order of their ids, so
 * that of two owners who remove each other one waits and then finds itself the last. Undefined for an unknown user.
 */
export async function lockUser(tx: Transaction, id: string, withOwners: boolean): Promise<LockedUser | undefined> {
  const { rows } = await tx.query<{ id: string; roles: string[]; locked: boolean }>(
    `SELECT id, roles, locked_at IS NOT NULL AS locked FROM identity.account
     WHERE id = $1 OR ($2 AND roles @> ARRAY[$3::text]) ORDER BY id FOR UPDATE`,
    [id, withOwners, ownerRole],
  )
  const user = rows.find((row) => row.id === id)
  if (user === undefined) return undefined
  return { roles: user.roles, lastOwner: withOwners && isLastOwner(id, rows) }
}

/**
 * Locks the user's account where a change expects roles, as a statement does that updates it; without effect for an
 * unknown user. @throws RolesChanged
 */
export async function requireRoles(tx: Transaction, id: string, expected: ExpectedRoles): Promise<void> {
  if (expected === undefined) return
  const text = 'SELECT roles FROM identity.account WHERE id = $1 FOR NO KEY UPDATE'
  const [user] = (await tx.query<{ roles: string[] }>(text, [id])).rows
  if (user !== undefined && !isDeepStrictEqual(user.roles, [...expected])) throw new RolesChanged()
}
