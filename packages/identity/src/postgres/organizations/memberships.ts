import { isDeepStrictEqual } from 'node:util'
import { type Database, type Queryable, sqlState, type Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import { type Membership, organizationOwner } from '../../model/organization.ts'
import type {
  FormerMembership,
  JoinResult,
  Member,
  MemberChange,
  MemberResult,
  Memberships,
  ProviderSubject,
} from '../../store/index.ts'
import { deleteRefreshFamilies } from '../grants/ended-grants.ts'
import { revokeGrantsInOrganization } from '../grants/grants.ts'
import { putMessages } from '../operations/outbox.ts'
import { type MembershipRow, queries, runStatement } from '../queries.ts'
import { orUndefined } from '../rows.ts'
import { forgetFormerMember, isFormerMember, recordFormerMember } from './former-members.ts'
import { lockOrganization } from './organizations.ts'

interface MemberRow {
  readonly user_id: string
  readonly username: string
  readonly email: string | null
  readonly roles: string[]
  readonly created_at: number
}

const rolesOfMember = `array(SELECT r.role_key FROM identity.membership_role r
  WHERE r.organization_id = m.organization_id AND r.user_id = m.user_id ORDER BY r.role_key) AS roles`

const selectMember = `SELECT m.user_id, a.username, a.email, m.created_at, ${rolesOfMember}
  FROM identity.membership m JOIN identity.account a ON a.id = m.user_id`

/** The invitations of organization `$1` to the verified address of user `$2`. */
const invitationsToUser = `FROM identity.invitation i JOIN identity.account a ON lower(a.email) = lower(i.email)
  WHERE i.organization_id = $1 AND a.id = $2 AND a.email_verified`

/** Whether user `$2` may accept an invitation of organization `$1` at `$3`: one of a locked inviter is none for now. */
const openInvitation = `SELECT 1 ${invitationsToUser} AND i.expires_at > $3 AND NOT EXISTS (
  SELECT 1 FROM identity.account inviter WHERE inviter.id = i.invited_by AND inviter.locked_at IS NOT NULL)`

async function hasInvitation(tx: Transaction, values: readonly unknown[]): Promise<boolean> {
  return (await tx.query(openInvitation, values)).rowCount > 0
}

/** Memberships in `identity.membership`, with their roles in `identity.membership_role`. */
export class PostgresMemberships implements Memberships {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  find(organizationId: string, userId: string): Promise<Membership | undefined> {
    return findMembership(this.#database, organizationId, userId)
  }

  async listByUser(userId: string, limit: number): Promise<Membership[]> {
    return (await runStatement(this.#database, queries.listMemberships, [userId, limit])).rows.map(membershipOf)
  }

  async listFormer(userId: string): Promise<FormerMembership[]> {
    const { rows } = await this.#database.query<{ organization_id: string; removed_at: number }>(
      'SELECT organization_id, removed_at FROM identity.former_member WHERE user_id = $1 ORDER BY organization_id',
      [userId],
    )
    return rows.map((row) => ({ organizationId: row.organization_id, removedAt: row.removed_at }))
  }

  async findMember(organizationId: string, userId: string): Promise<Member | undefined> {
    const text = `${selectMember} WHERE m.organization_id = $1 AND m.user_id = $2`
    const { rows } = await this.#database.query<MemberRow>(text, [organizationId, userId])
    return rows[0] && memberOf(rows[0])
  }

  async listMembers(organizationId: string, after: string, limit: number): Promise<Member[]> {
    const text = `${selectMember} WHERE m.organization_id = $1 AND m.user_id > $2 ORDER BY m.user_id LIMIT $3`
    return (await this.#database.query<MemberRow>(text, [organizationId, after, limit])).rows.map(memberOf)
  }

  async put(change: MemberChange): Promise<MemberResult> {
    try {
      return await this.#database.transaction((tx) => putMember(tx, change))
    } catch (error) {
      const fault = foreignKeyFault(error)
      if (fault === undefined) throw error
      return fault === 'role' ? 'unknown_role' : 'missing'
    }
  }

  async join(member: Omit<MemberChange, 'expected'>, upstream: ProviderSubject): Promise<JoinResult> {
    const { organizationId, userId, now } = member
    try {
      return await this.#database.transaction(async (tx) => {
        const usable = 'SELECT 1 FROM identity.account WHERE id = $1 AND locked_at IS NULL FOR SHARE'
        if ((await tx.query(usable, [userId])).rowCount === 0) return 'locked'
        if ((await lockMember(tx, organizationId, userId)) !== undefined) return 'outdated'
        if (await isFormerMember(tx, member, upstream)) return 'former'
        if (await hasInvitation(tx, [organizationId, userId, now])) return 'invited'
        return putMember(tx, { ...member, expected: undefined })
      })
    } catch (error) {
      const fault = foreignKeyFault(error)
      if (fault === undefined) throw error
      return fault === 'role' ? 'unknown_role' : 'missing'
    }
  }

  remove(
    { organizationId, userId, expected, messages }: Omit<MemberChange, 'roles' | 'now'>,
    end: RevocationTimes,
  ): Promise<MemberResult> {
    return this.#database.transaction(async (tx) => {
      const roles = await lockMember(tx, organizationId, userId)
      if (roles === undefined) return 'missing'
      if (expected !== undefined && !isDeepStrictEqual(roles, expected)) return 'outdated'
      if (roles.includes(organizationOwner) && !(await hasOtherOwner(tx, organizationId, userId))) return 'last_owner'
      const ended = await revokeGrantsInOrganization(tx, organizationId, userId, end)
      const values = [organizationId, userId]
      await tx.query('DELETE FROM identity.membership WHERE organization_id = $1 AND user_id = $2', values)
      await recordFormerMember(tx, { organizationId, userId }, end.now)
      await tx.query(
        `DELETE FROM identity.invitation WHERE organization_id = $1 AND id IN (SELECT i.id ${invitationsToUser})`,
        values,
      )
      await putMessages(tx, messages)
      await deleteRefreshFamilies(tx, ended, end)
      return 'changed'
    })
  }
}

/** A user's membership with its permissions, while the organization is active. */
export async function findMembership(
  on: Queryable,
  organizationId: string,
  userId: string,
): Promise<Membership | undefined> {
  const { rows } = await runStatement(on, queries.findMembership, [organizationId, userId])
  return rows[0] && membershipOf(rows[0])
}

/** Adds a member, or replaces the roles of one, in a transaction. */
export async function putMember(
  tx: Transaction,
  { organizationId, userId, roles, expected, now, messages }: MemberChange,
): Promise<MemberResult> {
  if (expected === undefined) {
    if (!(await insertMember(tx, { organizationId, userId, now }))) return 'outdated'
  } else {
    const before = await lockMember(tx, organizationId, userId)
    if (before === undefined) return 'missing'
    if (!isDeepStrictEqual(before, expected)) return 'outdated'
    const leavesOwners = before.includes(organizationOwner) && !roles.includes(organizationOwner)
    if (leavesOwners && !(await hasOtherOwner(tx, organizationId, userId))) return 'last_owner'
  }
  await replaceRoles(tx, { organizationId, userId, roles })
  await putMessages(tx, messages)
  return 'changed'
}

/** Adds a member, who is then no former one. False for a member. */
export async function insertMember(
  tx: Transaction,
  { organizationId, userId, now }: Pick<MemberChange, 'organizationId' | 'userId' | 'now'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO identity.membership (organization_id, user_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [organizationId, userId, now],
  )
  await forgetFormerMember(tx, { organizationId, userId })
  return rowCount === 1
}

/**
 * Locks a member's row and returns the roles; undefined for a user who is none. The account is locked first, as by
 * whoever deletes it, and then the organization, so that of two owners who remove each other one waits and finds itself
 * the last.
 */
async function lockMember(tx: Transaction, organizationId: string, userId: string): Promise<string[] | undefined> {
  await tx.query('SELECT 1 FROM identity.account WHERE id = $1 FOR KEY SHARE', [userId])
  if (!(await lockOrganization(tx, organizationId))) return undefined
  const values = [organizationId, userId]
  await tx.query('SELECT 1 FROM identity.membership WHERE organization_id = $1 AND user_id = $2 FOR UPDATE', values)
  const text = `SELECT ${rolesOfMember} FROM identity.membership m WHERE m.organization_id = $1 AND m.user_id = $2`
  const { rows } = await tx.query<{ roles: string[] }>(text, values)
  return rows[0]?.roles
}

async function hasOtherOwner(tx: Transaction, organizationId: string, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `SELECT 1 FROM identity.membership_role r JOIN identity.account a ON a.id = r.user_id
     WHERE r.organization_id = $1 AND r.user_id <> $2 AND r.role_owner = '*' AND r.role_key = $3
       AND a.locked_at IS NULL LIMIT 1`,
    [organizationId, userId, organizationOwner],
  )
  return rowCount === 1
}

/** Gives a member exactly these roles, in a transaction. */
export async function replaceRoles(
  tx: Transaction,
  { organizationId, userId, roles }: Pick<MemberChange, 'organizationId' | 'userId' | 'roles'>,
): Promise<void> {
  await tx.query(
    `DELETE FROM identity.membership_role WHERE organization_id = $1 AND user_id = $2 AND role_key <> ALL($3::text[])`,
    [organizationId, userId, roles],
  )
  await tx.query(
    `INSERT INTO identity.membership_role (organization_id, user_id, role_owner, role_key)
     SELECT $1, $2, ${ownerOfRole('requested', '$1')}, requested FROM unnest($3::text[]) AS requested ON CONFLICT DO NOTHING`,
    [organizationId, userId, roles],
  )
}

/**
 * The owner of the role with a key that an organization has (SQL): itself, or `*` for a template. An unknown key gets the
 * organization, so that the foreign key rejects it.
 */
export function ownerOfRole(key: string, organizationId: string): string {
  return `coalesce((SELECT r.owner FROM identity.organization_role r
    WHERE r.key = ${key} AND r.owner IN ('*', ${organizationId})), ${organizationId})`
}

const foreignKeyViolation = '23503'

/** What an inserted row refers to and is not there: a role, or anything else. Undefined for another error. */
export function foreignKeyFault(error: unknown): 'role' | 'other' | undefined {
  if (sqlState(error) !== foreignKeyViolation) return undefined
  return String((error as { constraint?: string }).constraint).includes('role_owner') ? 'role' : 'other'
}

/** Converts a row. An owner has every permission that a role of the organization can have. */
function membershipOf(row: MembershipRow): Membership {
  const isOwner = row.roles.includes(organizationOwner)
  return {
    organization: { id: row.organization_id, name: row.name, requireMfa: row.require_mfa },
    userId: row.user_id,
    roles: row.roles,
    permissions: isOwner ? row.assignable : row.permissions,
    assignable: row.assignable,
  }
}

function memberOf(row: MemberRow): Member {
  const { user_id: userId, username, email, roles, created_at: createdAt } = row
  return { userId, username, email: orUndefined(email), roles, createdAt }
}
