import type { Database, Transaction } from '@gatehouse/kit'
import { maxOrganizationRoles, type OrganizationRole, type ProtectedPermission } from '../../model/organization.ts'
import type { ExpectedRole, OrganizationRoles, ReleaseResult, RoleResult } from '../../store/index.ts'
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
      text: `SELECT permission FROM identity.protected_permission WHERE owner = '*'`,
    })
    return rows.map(({ permission }) => permission)
  }

  async listProtected(organizationId: string | undefined): Promise<ProtectedPermission[]> {
    const { rows } = await this.#database.query<ProtectedPermission>(
      `SELECT p.permission,
              array(SELECT r.key FROM identity.organization_role r
                     WHERE r.owner = p.owner AND p.permission = ANY(r.permissions) ORDER BY r.key) AS roles
         FROM identity.protected_permission p WHERE p.owner = $1 ORDER BY p.permission`,
      [organizationId ?? template],
    )
    return rows
  }

  async release(organizationId: string | undefined, permission: string): Promise<ReleaseResult> {
    const values = [organizationId ?? template, permission]
    return this.#database.transaction(async (tx) => {
      await tx.query(lockRoles)
      const named = 'SELECT 1 FROM identity.organization_role WHERE owner = $1 AND $2 = ANY(permissions) LIMIT 1'
      if ((await tx.query(named, values)).rowCount > 0) return 'in_use'
      const text = 'DELETE FROM identity.protected_permission WHERE owner = $1 AND permission = $2'
      return (await tx.query(text, values)).rowCount === 1 ? 'released' : 'missing'
    })
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
 * Writes a role in a transaction, and protects its permissions. The lock makes two writers of one key follow one another:
 * no index spans the templates and the other roles.
 */
export async function putRole(
  tx: Transaction,
  role: OrganizationRole,
  now: number,
): Promise<Exclude<RoleResult, 'missing' | 'outdated'>> {
  const { organizationId, key, name, permissions } = role
  await tx.query(lockRoles)
  const elsewhere = organizationId === undefined ? 'organization_id IS NOT NULL' : 'organization_id IS NULL'
  const other = await tx.query(`SELECT 1 FROM identity.organization_role WHERE key = $1 AND ${elsewhere}`, [key])
  if (other.rowCount > 0) return 'conflict'
  if (organizationId !== undefined && (await isFull(tx, organizationId, key))) return 'full'
  const { rows } = await tx.query<{ created: boolean }>(
    `INSERT INTO identity.organization_role (organization_id, key, name, permissions, updated_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (owner, key) DO UPDATE
       SET name = excluded.name, permissions = excluded.permissions, updated_at = excluded.updated_at
     RETURNING xmax = 0 AS created`,
    [organizationId ?? null, key, name, permissions, now],
  )
  await protectPermissions(tx, role)
  return rows[0]?.created ? 'created' : 'updated'
}

/** Whether an organization has all the roles of its own that it may have, and none with this key. */
async function isFull(tx: Transaction, organizationId: string, key: string): Promise<boolean> {
  const { rows } = await tx.query<{ full: boolean | null }>(
    'SELECT count(*) >= $3 AND NOT bool_or(key = $2) AS full FROM identity.organization_role WHERE owner = $1',
    [organizationId, key, maxOrganizationRoles],
  )
  return rows[0]?.full === true
}

/** Has nobody get these permissions without a role, until they are released. */
export async function protectPermissions(
  tx: Transaction,
  { organizationId, permissions }: Pick<OrganizationRole, 'organizationId' | 'permissions'>,
): Promise<void> {
  await tx.query(
    `INSERT INTO identity.protected_permission (organization_id, permission) SELECT $1, unnest($2::text[])
     ON CONFLICT (owner, permission) DO NOTHING`,
    [organizationId ?? null, permissions],
  )
}

/** The organizations that have a role of their own with a key; at most ten. */
export async function listOwnersOfRole(tx: Transaction, key: string): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `SELECT organization_id AS id FROM identity.organization_role
      WHERE key = $1 AND organization_id IS NOT NULL ORDER BY organization_id LIMIT 10`,
    [key],
  )
  return rows.map(({ id }) => id)
}

/** Converts a row. */
export function roleOf({ organization_id, key, name, permissions }: RoleRow): OrganizationRole {
  return { organizationId: orUndefined(organization_id), key, name, permissions }
}
