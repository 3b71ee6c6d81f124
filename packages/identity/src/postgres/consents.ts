import type { Database } from '@gatehouse/kit'
import type { Consent, Consents } from '../store.ts'

interface ConsentRow {
  readonly client_id: string
  readonly scopes: string[]
  readonly resources: string[]
  readonly granted_at: number
}

const select = 'SELECT client_id, scopes, resources, granted_at FROM identity.consent'

const add = `INSERT INTO identity.consent AS c (user_id, client_id, scopes, resources, granted_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (user_id, client_id) DO UPDATE SET granted_at = excluded.granted_at,
    scopes = ARRAY(SELECT DISTINCT unnest(c.scopes || excluded.scopes) ORDER BY 1),
    resources = ARRAY(SELECT DISTINCT unnest(c.resources || excluded.resources) ORDER BY 1)`

export class PostgresConsents implements Consents {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(userId: string, clientId: string): Promise<Consent | undefined> {
    const { rows } = await this.#database.query<ConsentRow>(`${select} WHERE user_id = $1 AND client_id = $2`, [
      userId,
      clientId,
    ])
    return rows[0] && consentOf(rows[0])
  }

  async ofUser(userId: string): Promise<Consent[]> {
    const text = `${select} WHERE user_id = $1 ORDER BY granted_at DESC LIMIT 500`
    return (await this.#database.query<ConsentRow>(text, [userId])).rows.map(consentOf)
  }

  async add(userId: string, { clientId, scopes, resources, grantedAt }: Consent): Promise<void> {
    await this.#database.query(add, [userId, clientId, scopes, resources, grantedAt])
  }
}

function consentOf(row: ConsentRow): Consent {
  return { clientId: row.client_id, scopes: row.scopes, resources: row.resources, grantedAt: row.granted_at }
}
