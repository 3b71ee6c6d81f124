import { isDeepStrictEqual } from 'node:util'
import type { Database, Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import type { Organization, OrganizationStatus } from '../../model/organization.ts'
import type { OrganizationChange, Organizations, OrganizationUpdate } from '../../store/index.ts'
import { deleteRefreshFamilies } from '../grants/ended-grants.ts'
import { revokeGrantsInOrganization } from '../grants/grants.ts'
import { putMessages } from '../operations/outbox.ts'

interface OrganizationRow {
  readonly id: string
  readonly name: string
  readonly status: OrganizationStatus
  readonly require_mfa: boolean
  readonly created_at: number
  readonly updated_at: number
}

const select = 'SELECT id, name, status, require_mfa, created_at, updated_at FROM identity.organization'

/** Organizations in `identity.organization`. */
export class PostgresOrganizations implements Organizations {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: string): Promise<Organization | undefined> {
    const { rows } = await this.#database.query<OrganizationRow>(`${select} WHERE id = $1`, [id])
    return rows[0] && organizationOf(rows[0])
  }

  async list(after: string, limit: number): Promise<Organization[]> {
    const text = `${select} WHERE id > $1 ORDER BY id LIMIT $2`
    return (await this.#database.query<OrganizationRow>(text, [after, limit])).rows.map(organizationOf)
  }

  async create({ id, name, status, requireMfa, createdAt }: Organization): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `INSERT INTO identity.organization (id, name, status, require_mfa, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT DO NOTHING`,
      [id, name, status, requireMfa, createdAt],
    )
    return rowCount === 1
  }

  update(
    id: string,
    { name, status, requireMfa }: OrganizationUpdate,
    end: RevocationTimes,
    { messages, expected }: OrganizationChange,
  ): Promise<'changed' | 'missing' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const text = `${select} WHERE id = $1 FOR UPDATE`
      const [current] = (await tx.query<OrganizationRow>(text, [id])).rows
      if (current === undefined) return 'missing'
      if (expected !== undefined && !isDeepStrictEqual(organizationOf(current), expected)) return 'outdated'
      if (requireMfa && !current.require_mfa) await putMessages(tx, messages)
      await tx.query(
        `UPDATE identity.organization SET name = coalesce($2, name), status = coalesce($3, status),
           require_mfa = coalesce($4::boolean, require_mfa), updated_at = $5 WHERE id = $1`,
        [id, name ?? null, status ?? null, requireMfa ?? null, end.now],
      )
      if (status === 'suspended')
        await deleteRefreshFamilies(tx, await revokeGrantsInOrganization(tx, id, undefined, end), end)
      return 'changed'
    })
  }

  async requiresMfa(userId: string): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `SELECT 1 FROM identity.membership m JOIN identity.organization o ON o.id = m.organization_id
       WHERE m.user_id = $1 AND o.require_mfa AND o.status = 'active' LIMIT 1`,
      [userId],
    )
    return rowCount === 1
  }

  remove(
    id: string,
    end: RevocationTimes,
    expected: Organization | undefined,
  ): Promise<'changed' | 'missing' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const [current] = (await tx.query<OrganizationRow>(`${select} WHERE id = $1 FOR UPDATE`, [id])).rows
      if (current === undefined) return 'missing'
      if (expected !== undefined && !isDeepStrictEqual(organizationOf(current), expected)) return 'outdated'
      const ended = await revokeGrantsInOrganization(tx, id, undefined, end)
      await tx.query('DELETE FROM identity.organization WHERE id = $1', [id])
      await deleteRefreshFamilies(tx, ended, end)
      return 'changed'
    })
  }
}

/**
 * Locks an organization until the end of the transaction, so that changes of its members follow one another; false for
 * an unknown one. The lock lets others refer to it.
 */
export async function lockOrganization(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.query('SELECT 1 FROM identity.organization WHERE id = $1 FOR NO KEY UPDATE', [id])).rowCount === 1
}

function organizationOf(row: OrganizationRow): Organization {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    requireMfa: row.require_mfa,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
