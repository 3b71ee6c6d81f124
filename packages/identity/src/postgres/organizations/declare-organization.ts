import type { Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import { type DeclaredOrganization, NameConflict, type WriteResult } from '../../store/index.ts'
import { deleteRefreshFamilies } from '../grants/ended-grants.ts'
import { revokeGrantsInOrganization } from '../grants/grants.ts'
import { foreignKeyFault, insertMember, replaceRoles } from './memberships.ts'

/** Writes a declared organization with its members, in a transaction. Other members stay. @throws NameConflict */
export async function declareOrganization(
  tx: Transaction,
  { organization, members }: DeclaredOrganization,
  end: RevocationTimes,
): Promise<WriteResult> {
  const { id, name, status, requireMfa, createdAt } = organization
  const { rows } = await tx.query<{ created: boolean }>(
    `INSERT INTO identity.organization (id, name, status, require_mfa, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, status = excluded.status, require_mfa = excluded.require_mfa,
       updated_at = excluded.updated_at
     RETURNING xmax = 0 AS created`,
    [id, name, status, requireMfa, createdAt],
  )
  for (const { userId, roles } of members)
    await declareMember(tx, { organizationId: id, userId, roles, now: createdAt })
  if (status === 'suspended')
    await deleteRefreshFamilies(tx, await revokeGrantsInOrganization(tx, id, undefined, end), end)
  return rows[0]?.created ? 'created' : 'updated'
}

interface DeclaredMember {
  readonly organizationId: string
  readonly userId: string
  readonly roles: readonly string[]
  readonly now: number
}

async function declareMember(tx: Transaction, { organizationId, userId, roles, now }: DeclaredMember): Promise<void> {
  try {
    await insertMember(tx, { organizationId, userId, now })
    await replaceRoles(tx, { organizationId, userId, roles })
  } catch (error) {
    const fault = foreignKeyFault(error)
    if (fault === undefined) throw error
    const detail = fault === 'role' ? `a role of the member ${userId} is unknown` : `there is no user ${userId}`
    throw new NameConflict('id', `organization ${organizationId}: ${detail}`)
  }
}
