import type { Transaction } from '@gatehouse/kit'
import type { ProviderSubject } from '../../store/index.ts'

/** A user in an organization. */
interface OrganizationUser {
  readonly organizationId: string
  readonly userId: string
}

/** The hash of an account at a provider (SQL): it says nothing about who that is, and outlives the account here. */
const upstreamHash = (issuer: string, subject: string) =>
  `encode(sha256(convert_to(${issuer} || E'\\n' || ${subject}, 'UTF8')), 'hex')`

/** The hashes of the accounts of user `$2` at the provider of organization `$1`. */
const hashesOfUser = `SELECT ${upstreamHash('l.issuer', 'l.subject')}
  FROM identity.linked_account l JOIN identity.connection c ON c.id = l.connection_id
 WHERE c.organization_id = $1 AND l.user_id = $2`

/** Records that a membership ended, for the user and for their accounts at the provider of the organization. */
export async function recordFormerMember(
  tx: Transaction,
  { organizationId, userId }: OrganizationUser,
  now: number,
): Promise<void> {
  await tx.query(
    `INSERT INTO identity.former_member (organization_id, user_id, removed_at) VALUES ($1, $2, $3)
     ON CONFLICT (organization_id, user_id) DO UPDATE SET removed_at = excluded.removed_at`,
    [organizationId, userId, now],
  )
  await tx.query(
    `INSERT INTO identity.former_upstream (organization_id, hash)
     SELECT $1, hash FROM (${hashesOfUser}) AS linked (hash) ON CONFLICT DO NOTHING`,
    [organizationId, userId],
  )
}

/**
 * Whether a user is a former member, or the account at the provider with which they signed in is that of one: an account
 * here can be deleted and created again. That of a former member is recorded, if it was linked after the removal.
 */
export async function isFormerMember(
  tx: Transaction,
  { organizationId, userId }: OrganizationUser,
  { issuer, subject }: ProviderSubject,
): Promise<boolean> {
  const recorded = await tx.query(
    `INSERT INTO identity.former_upstream (organization_id, hash)
     SELECT organization_id, ${upstreamHash('$3::text', '$4::text')} FROM identity.former_member
      WHERE organization_id = $1 AND user_id = $2
     ON CONFLICT (organization_id, hash) DO UPDATE SET hash = excluded.hash`,
    [organizationId, userId, issuer, subject],
  )
  if (recorded.rowCount > 0) return true
  const known = await tx.query(
    `SELECT 1 FROM identity.former_upstream WHERE organization_id = $1 AND hash = ${upstreamHash('$2::text', '$3::text')}`,
    [organizationId, issuer, subject],
  )
  return known.rowCount > 0
}

/** Deletes what was recorded of a user, whom somebody adds again. */
export async function forgetFormerMember(tx: Transaction, { organizationId, userId }: OrganizationUser): Promise<void> {
  const values = [organizationId, userId]
  await tx.query('DELETE FROM identity.former_member WHERE organization_id = $1 AND user_id = $2', values)
  await tx.query(
    `DELETE FROM identity.former_upstream WHERE organization_id = $1 AND hash IN (${hashesOfUser})`,
    values,
  )
}
