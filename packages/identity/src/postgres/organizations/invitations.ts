import type { Database, Queryable } from '@gatehouse/kit'
import type { OrganizationRole } from '../../model/organization.ts'
import type {
  Invitation,
  InvitationAcceptance,
  Invitations,
  MailedInvitation,
  MayInvite,
  OutboxMessage,
  UserInvitations,
} from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { orUndefined } from '../rows.ts'
import { findMembership, foreignKeyFault, ownerOfRole, putMember } from './memberships.ts'
import { lockOrganization } from './organizations.ts'
import { type RoleRow, roleOf } from './roles.ts'

interface InvitationRow {
  readonly organization_id: string
  readonly organization_name: string
  readonly id: string
  readonly email: string
  readonly roles: string[]
  readonly invited_by: string | null
  readonly created_at: number
  readonly expires_at: number
}

const columns = `i.organization_id, o.name AS organization_name, i.id, i.email, i.invited_by, i.created_at, i.expires_at,
  array(SELECT r.role_key FROM identity.invitation_role r
         WHERE r.organization_id = i.organization_id AND r.invitation_id = i.id ORDER BY r.role_key) AS roles`

const tables = 'identity.invitation i JOIN identity.organization o ON o.id = i.organization_id'

/**
 * The invitation with the hash `$1` that user `$2` may accept at `$3`: who has its address and proved it, while neither
 * they nor the inviter are locked.
 */
const acceptable = `SELECT ${columns} FROM ${tables} JOIN identity.account a ON lower(a.email) = lower(i.email)
  LEFT JOIN identity.account inviter ON inviter.id = i.invited_by
  WHERE i.hash = $1 AND a.id = $2 AND i.expires_at > $3 AND o.status = 'active' AND a.email_verified
    AND a.locked_at IS NULL AND inviter.locked_at IS NULL`

/** Invitations in `identity.invitation`. */
export class PostgresInvitations implements Invitations {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async put(
    invitation: Invitation,
    hash: string,
    messages: readonly OutboxMessage[],
  ): Promise<'created' | 'missing' | 'unknown_role'> {
    const { organizationId, id, email, roles, invitedBy, createdAt, expiresAt } = invitation
    try {
      return await this.#database.transaction(async (tx) => {
        if (!(await lockOrganization(tx, organizationId))) return 'missing'
        await tx.query('DELETE FROM identity.invitation WHERE organization_id = $1 AND lower(email) = lower($2)', [
          organizationId,
          email,
        ])
        await tx.query(
          `INSERT INTO identity.invitation (organization_id, id, hash, email, invited_by, created_at, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7)`,
          [organizationId, id, hash, email, invitedBy ?? null, createdAt, expiresAt],
        )
        await tx.query(
          `INSERT INTO identity.invitation_role (organization_id, invitation_id, role_owner, role_key)
           SELECT $1, $2, ${ownerOfRole('requested', '$1')}, requested FROM unnest($3::text[]) AS requested`,
          [organizationId, id, roles],
        )
        await putMessages(tx, messages)
        return 'created'
      })
    } catch (error) {
      const fault = foreignKeyFault(error)
      if (fault === undefined) throw error
      return fault === 'role' ? 'unknown_role' : 'missing'
    }
  }

  async list(organizationId: string, before: string | undefined, limit: number, now: number): Promise<Invitation[]> {
    const { rows } = await this.#database.query<InvitationRow>(
      `SELECT ${columns} FROM ${tables} WHERE i.organization_id = $1 AND ($2::uuid IS NULL OR i.id < $2) AND i.expires_at > $4
       ORDER BY i.id DESC LIMIT $3`,
      [organizationId, before ?? null, limit, now],
    )
    return rows.map(invitationOf)
  }

  async listByUser(userId: string, now: number): Promise<UserInvitations> {
    const list = async (condition: string) => {
      const text = `SELECT ${columns} FROM ${tables} JOIN identity.account a ON ${condition}
        WHERE a.id = $1 AND i.expires_at > $2 ORDER BY i.created_at LIMIT 1000`
      return (await this.#database.query<InvitationRow>(text, [userId, now])).rows.map(invitationOf)
    }
    return {
      received: await list('a.email_verified AND lower(a.email) = lower(i.email)'),
      sent: await list('a.id = i.invited_by'),
    }
  }

  find(hash: string, userId: string, mayInvite: MayInvite, now: number): Promise<MailedInvitation | undefined> {
    return findAcceptable(this.#database, { hash, userId, now }, mayInvite)
  }

  async findMailed(hash: string, now: number): Promise<MailedInvitation | undefined> {
    const text = `SELECT ${columns} FROM ${tables} WHERE i.hash = $1 AND i.expires_at > $2`
    const { rows } = await this.#database.query<InvitationRow>(text, [hash, now])
    return rows[0] && invitationOf(rows[0])
  }

  accept(
    { hash, userId, now }: InvitationAcceptance,
    mayInvite: MayInvite,
    messages: readonly OutboxMessage[],
  ): Promise<MailedInvitation | undefined> {
    return this.#database.transaction(async (tx) => {
      const text = 'SELECT organization_id, invited_by FROM identity.invitation WHERE hash = $1'
      const [named] = (await tx.query<Pick<InvitationRow, 'organization_id' | 'invited_by'>>(text, [hash])).rows
      if (named === undefined) return undefined
      // Whoever locks one of the two accounts comes before this or after it.
      const accounts = 'SELECT 1 FROM identity.account WHERE id IN ($1, $2) ORDER BY id FOR SHARE'
      await tx.query(accounts, [userId, named.invited_by])
      if (!(await lockOrganization(tx, named.organization_id))) return undefined
      const found = await findAcceptable(tx, { hash, userId, now }, mayInvite)
      if (found === undefined) return undefined
      await tx.query('DELETE FROM identity.invitation WHERE hash = $1', [hash])
      // Who is a member already keeps their roles.
      await putMember(tx, { ...found, userId, expected: undefined, now, messages })
      return found
    })
  }

  async remove(organizationId: string, id: string): Promise<boolean> {
    const text = 'DELETE FROM identity.invitation WHERE organization_id = $1 AND id = $2'
    return (await this.#database.query(text, [organizationId, id])).rowCount === 1
  }
}

async function findAcceptable(
  on: Queryable,
  { hash, userId, now }: { readonly hash: string; readonly userId: string; readonly now: number },
  mayInvite: MayInvite,
): Promise<MailedInvitation | undefined> {
  const { rows } = await on.query<InvitationRow>(acceptable, [hash, userId, now])
  const found = rows[0] && invitationOf(rows[0])
  if (found?.invitedBy === undefined) return found
  const inviter = await findMembership(on, found.organizationId, found.invitedBy)
  return inviter !== undefined && mayInvite(inviter, await rolesOfInvitation(on, found)) ? found : undefined
}

async function rolesOfInvitation(on: Queryable, { organizationId, id }: Invitation): Promise<OrganizationRole[]> {
  const { rows } = await on.query<RoleRow>(
    `SELECT r.organization_id, r.key, r.name, r.permissions FROM identity.invitation_role i
       JOIN identity.organization_role r ON r.owner = i.role_owner AND r.key = i.role_key
     WHERE i.organization_id = $1 AND i.invitation_id = $2`,
    [organizationId, id],
  )
  return rows.map(roleOf)
}

function invitationOf(row: InvitationRow): MailedInvitation {
  return {
    id: row.id,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    email: row.email,
    roles: row.roles,
    invitedBy: orUndefined(row.invited_by),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
