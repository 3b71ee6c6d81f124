import type { Database, Transaction } from '@gatehouse/kit'
import type { OrganizationRole } from '../../model/organization.ts'
import type { ExpectedRole, OrganizationRoles, RoleResult } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'
import { foreignKeyFault } from './memberships.ts'

/** A row of `identity.organization_role`. */
export interface RoleRow {
  readonly organization_id: string | null
  readonly key: string
  readonly name: string
  readonly permissions: string[]
}

/** The owner of templates. */
const template = '*'

/** Roles of organizations in `identity.organization_role`. */
export class PostgresOrganizationRoles implements OrganizationRoles {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(organizationId: string | undefined): Promise<OrganizationRole[]> {
    const text = `SELECT organization_id, key, name, permissions FROM identity.organization_role
      WHERE owner IN ('*', $1) ORDER BY key`
    const { rows } = await this.#database.query<RoleRow>(text, [organizationId ?? template])
    return rows.map(roleOf)
  }

  async listTemplatePermissions(): Promise<string[]> {
    const { rows } = await this.#database.query<{ permission: string }>({
      name: 'identity template permissions',
      text: `SELECT DISTINCT unnest(permissions) AS permission FROM identity.organization_role WHERE owner = '*'`,
    })
    return rows.map(({ permission }) => permission)
  }

  async put(role: OrganizationRole, now: number, expected?: ExpectedRole): Promise<RoleResult> {
    try {
      return await this.#database.transaction(async (tx) => {
        if (expected !== undefined && !(await isRole(tx, role, expected))) return 'outdated'
        return putRole(tx, role, now)
      })
    } catch (error) {
      if (foreignKeyFault(error) === undefined) throw error
      return 'missing'
    }
  }

  async remove(organizationId: string | undefined, key: string, expected?: ExpectedRole): Promise<boolean> {
    const text = `DELETE FROM identity.organization_role WHERE owner = $1 AND key = $2
      AND ($3::text IS NULL OR (name = $3 AND permissions = $4::text[]))`
    const values = [organizationId ?? template, key, expected?.name ?? null, expected?.permissions ?? null]
    return (await this.#database.query(text, values)).rowCount === 1
  }
}

const lockRoles = 'LOCK TABLE identity.organization_role IN SHARE ROW EXCLUSIVE MODE'

/** Whether a role is as it was read, until the end of the transaction. */
async function isRole(
  tx: Transaction,
  { organizationId, key }: OrganizationRole,
  { name, permissions }: ExpectedRole,
): Promise<boolean> {
  await tx.query(lockRoles)
  const text = `SELECT 1 FROM identity.organization_role
    WHERE owner = $1 AND key = $2 AND name = $3 AND permissions = $4::text[]`
  return (await tx.query(text, [organizationId ?? template, key, name, permissions])).rowCount === 1
}

/**
 * Writes a role in a transaction. The lock makes two writers of one key follow one another: no index spans the templates
 * and the other roles.
 */
export async function putRole(
  tx: Transaction,
  { organizationId, key, name, permissions }: OrganizationRole,
  now: number,
): Promise<Exclude<RoleResult, 'missing' | 'outdated'>> {
  await tx.query(lockRoles)
  const elsewhere = organizationId === undefined ? 'organization_id IS NOT NULL' : 'organization_id IS NULL'
  const other = await tx.query(`SELECT 1 FROM identity.organization_role WHERE key = $1 AND ${elsewhere}`, [key])
  if (other.rowCount > 0) return 'conflict'
  const { rows } = await tx.query<{ created: boolean }>(
    `INSERT INTO identity.organization_role (organization_id, key, name, permissions, updated_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (owner, key) DO UPDATE
       SET name = excluded.name, permissions = excluded.permissions, updated_at = excluded.updated_at
     RETURNING xmax = 0 AS created`,
    [organizationId ?? null, key, name, permissions, now],
  )
  return rows[0]?.created ? 'created' : 'updated'
}

/** Converts a row. */
export function roleOf({ organization_id, key, name, permissions }: RoleRow): OrganizationRole {
  return { organizationId: orUndefined(organization_id), key, name, permissions }
}
