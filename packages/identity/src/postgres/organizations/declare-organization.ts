import type { Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import { type DeclaredMember, type DeclaredOrganization, NameConflict, type WriteResult } from '../../store/index.ts'
import { deleteRefreshFamilies } from '../grants/ended-grants.ts'
import { revokeGrantsInOrganization } from '../grants/grants.ts'
import { foreignKeyFault, insertMember, replaceRoles } from './memberships.ts'
import { lockOrganization } from './organizations.ts'

/**
 * Writes a declared organization with its members, in a transaction. Other members stay. A new one waits when a role of a
 * member does; one that exists is written without that role, which `addWaitingRoles` adds. @throws NameConflict
 */
export async function declareOrganization(
  tx: Transaction,
  { organization, members }: DeclaredOrganization,
  end: RevocationTimes,
): Promise<WriteResult | 'waits'> {
  const { id, name, status, requireMfa, createdAt } = organization
  const isComplete = members.every(({ waitingRoles }) => waitingRoles.length === 0)
  if (!isComplete && !(await lockOrganization(tx, id))) return 'waits'
  const { rows } = await tx.query<{ created: boolean }>(
    `INSERT INTO identity.organization (id, name, status, require_mfa, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, status = excluded.status, require_mfa = excluded.require_mfa,
       updated_at = excluded.updated_at
     RETURNING xmax = 0 AS created`,
    [id, name, status, requireMfa, createdAt],
  )
  const waited = `UPDATE identity.membership SET waiting_roles = '{}' WHERE organization_id = $1 AND waiting_roles <> '{}'`
  await tx.query(waited, [id])
  for (const member of members) await declareMember(tx, { ...member, organizationId: id, now: createdAt })
  if (status === 'suspended')
    await deleteRefreshFamilies(tx, await revokeGrantsInOrganization(tx, id, undefined, end), end)
  return rows[0]?.created ? 'created' : 'updated'
}

interface MemberOf extends DeclaredMember {
  readonly organizationId: string
  readonly now: number
}

async function declareMember(
  tx: Transaction,
  { organizationId, userId, roles, waitingRoles, now }: MemberOf,
): Promise<void> {
  try {
    await insertMember(tx, { organizationId, userId, now })
    const { rows } = await tx.query<{ key: string }>(
      `SELECT role_key AS key FROM identity.membership_role
       WHERE organization_id = $1 AND user_id = $2 AND role_key = ANY($3::text[])`,
      [organizationId, userId, waitingRoles],
    )
    await replaceRoles(tx, { organizationId, userId, roles: [...roles, ...rows.map(({ key }) => key)] })
    await tx.query('UPDATE identity.membership SET waiting_roles = $3 WHERE organization_id = $1 AND user_id = $2', [
      organizationId,
      userId,
      waitingRoles,
    ])
  } catch (error) {
    const fault = foreignKeyFault(error)
    if (fault === undefined) throw error
    const detail = fault === 'role' ? `a role of the member ${userId} is unknown` : `there is no user ${userId}`
    throw new NameConflict('id', `organization ${organizationId}: ${detail}`)
  }
}
