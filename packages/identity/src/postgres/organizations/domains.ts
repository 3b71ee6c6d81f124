import { type Database, sqlState } from '@gatehouse/kit'
import type { OrganizationDomain, OrganizationDomains } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'
import { foreignKeyFault } from './memberships.ts'

interface DomainRow {
  readonly organization_id: string
  readonly domain: string
  readonly challenge: string
  readonly created_at: number
  readonly verified_at: number | null
}

const select = `SELECT organization_id, domain, challenge, created_at, verified_at FROM identity.organization_domain
  WHERE organization_id = $1`

const uniqueViolation = '23505'

/** Domains in `identity.organization_domain`. */
export class PostgresOrganizationDomains implements OrganizationDomains {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(organizationId: string): Promise<OrganizationDomain[]> {
    const { rows } = await this.#database.query<DomainRow>(`${select} ORDER BY domain LIMIT 500`, [organizationId])
    return rows.map(domainOf)
  }

  async find(organizationId: string, domain: string): Promise<OrganizationDomain | undefined> {
    const { rows } = await this.#database.query<DomainRow>(`${select} AND domain = $2`, [organizationId, domain])
    return rows[0] && domainOf(rows[0])
  }

  async add({ organizationId, domain, challenge, createdAt }: OrganizationDomain): Promise<boolean> {
    try {
      await this.#database.query(
        `INSERT INTO identity.organization_domain (organization_id, domain, challenge, created_at)
         VALUES ($1, $2, $3, $4) ON CONFLICT (organization_id, domain) DO NOTHING`,
        [organizationId, domain, challenge, createdAt],
      )
      return true
    } catch (error) {
      if (foreignKeyFault(error) === undefined) throw error
      return false
    }
  }

  async verify(
    { organizationId, domain, challenge }: OrganizationDomain,
    now: number,
  ): Promise<'verified' | 'missing' | 'conflict'> {
    try {
      const { rowCount } = await this.#database.query(
        `UPDATE identity.organization_domain SET verified_at = coalesce(verified_at, $4)
         WHERE organization_id = $1 AND domain = $2 AND challenge = $3`,
        [organizationId, domain, challenge, now],
      )
      return rowCount === 1 ? 'verified' : 'missing'
    } catch (error) {
      if (sqlState(error) !== uniqueViolation) throw error
      return 'conflict'
    }
  }

  async remove(organizationId: string, domain: string): Promise<boolean> {
    const text = 'DELETE FROM identity.organization_domain WHERE organization_id = $1 AND domain = $2'
    return (await this.#database.query(text, [organizationId, domain])).rowCount === 1
  }

  async findOrganization(domain: string): Promise<string | undefined> {
    const { rows } = await this.#database.query<{ id: string }>(
      `SELECT o.id FROM identity.organization_domain d JOIN identity.organization o ON o.id = d.organization_id
       WHERE d.domain = $1 AND d.verified_at IS NOT NULL AND o.status = 'active'`,
      [domain],
    )
    return rows[0]?.id
  }
}

function domainOf(row: DomainRow): OrganizationDomain {
  return {
    organizationId: row.organization_id,
    domain: row.domain,
    challenge: row.challenge,
    createdAt: row.created_at,
    verifiedAt: orUndefined(row.verified_at),
  }
}
